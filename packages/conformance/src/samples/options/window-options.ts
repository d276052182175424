/** Windows whose strides, pads and dilations differ by axis: convolutions and pools over one to three axes. */
import type { DType, HostTensor, Shape } from "@mp/core";
import { type Op, type OpAttributes, type OpOf, windowExtent } from "@mp/core/graph";
import type { RandomSource } from "../../random-source.js";
import { conv, weightGradient } from "../convolution-samples.js";
import { distinct, exact, sample, smallIntegers } from "../op-sample.js";
import { gradientSample } from "../pooling-samples.js";
import { type Listed, type OptionRow, type OptionRows, type Setting, setting } from "./setting.js";

/** Lists for windows over as many axes, the plain ones first. */
interface Windows {
  readonly sizes: Shape;
  readonly kernels: readonly Shape[];
  readonly strides: readonly Shape[];
  readonly pads: readonly Shape[];
  readonly dilations: readonly Shape[];
}

// biome-ignore format: one list a line
const WINDOWS: readonly Windows[] = [
  {
    sizes: [7, 9],
    kernels: [[2, 3], [3, 2], [3, 3], [1, 1]],
    strides: [[2, 2], [1, 1], [3, 1], [1, 2]],
    pads: [[0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    dilations: [[1, 1], [2, 1], [1, 2], [3, 2]],
  },
  {
    sizes: [10],
    kernels: [[3], [2], [4], [1]],
    strides: [[3], [1], [5]],
    pads: [[1, 0], [0, 0], [0, 1], [2, 0]],
    dilations: [[1], [2], [3]],
  },
  {
    sizes: [4, 5, 6],
    kernels: [[2, 2, 2], [1, 2, 3], [3, 1, 2]],
    strides: [[2, 2, 2], [1, 2, 1], [2, 1, 3]],
    pads: [[0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1]],
    dilations: [[1, 1, 1], [2, 1, 1], [1, 2, 1], [1, 1, 2]],
  },
];

type Placed = Pick<OpAttributes["Conv"], "pads" | "dilations">;

const fits = (sizes: Shape, kernel: Shape, { pads, dilations }: Placed): boolean =>
  sizes.every(
    (size, axis) =>
      windowExtent(kernel[axis] ?? 1, dilations[axis] ?? 1) <=
      size + (pads[axis] ?? 0) + (pads[axis + sizes.length] ?? 0),
  );

/** No pad is as long as the kernel: every window has an element in it. */
const isCovered = (kernel: Shape, { pads }: Pick<Placed, "pads">): boolean =>
  pads.every((pad, at) => pad < (kernel[at % kernel.length] ?? 1));

const windowLists = ({ strides, pads, dilations }: Windows) => ({ strides, pads, dilations });

const BATCH = 2;
const CHANNELS = 4;

const forms = {
  group: [1, 2, CHANNELS],
  bias: [false, true],
  outputs: [CHANNELS, 2 * CHANNELS],
} as const;

const whole =
  (random: RandomSource) =>
  (dtype: DType, shape: Shape): HostTensor =>
    smallIntegers(random, dtype, shape);

function convolution(dtype: DType, windows: Windows): Setting<"Conv"> {
  return setting(
    "Conv",
    { ...windowLists(windows), group: forms.group },
    { kernel: windows.kernels, bias: forms.bias, outputs: forms.outputs },
    (attributes, { kernel, bias, outputs }, random) => {
      if (!fits(windows.sizes, kernel, attributes)) return undefined;
      const [x, w] = [
        [BATCH, CHANNELS, ...windows.sizes],
        [outputs, CHANNELS / attributes.group, ...kernel],
      ];
      return { ...conv({ ...attributes, x, w }, whole(random), dtype, bias), exact: true };
    },
  );
}

function transposed(dtype: DType, windows: Windows): Setting<"ConvTranspose"> {
  const rank = windows.sizes.length;
  const zeros = new Array<number>(rank).fill(0);
  return setting(
    "ConvTranspose",
    {
      ...windowLists(windows),
      group: forms.group,
      outputPadding: [zeros, ...zeros.map((_, axis) => zeros.with(axis, 1))],
    },
    { kernel: windows.kernels, bias: forms.bias, outputs: forms.outputs },
    (attributes, { kernel, bias, outputs }, random) => {
      const { strides, outputPadding, group } = attributes;
      if (outputPadding.some((padding, axis) => padding >= (strides[axis] ?? 1))) return undefined;
      const draw = whole(random);
      const x = [BATCH, CHANNELS, ...windows.sizes.map((size) => Math.ceil(size / 2))];
      return exact(
        attributes,
        draw(dtype, x),
        draw(dtype, [CHANNELS, outputs / group, ...kernel]),
        ...(bias ? [draw(dtype, [outputs])] : []),
      );
    },
  );
}

function filters(dtype: DType, windows: Windows): Setting<"ConvWeightGradient"> {
  return setting(
    "ConvWeightGradient",
    { ...windowLists(windows), group: forms.group, kernelShape: windows.kernels },
    { outputs: forms.outputs },
    (attributes, { outputs }, random) => {
      const { kernelShape, group } = attributes;
      if (!fits(windows.sizes, kernelShape, attributes)) return undefined;
      const x = [BATCH, CHANNELS, ...windows.sizes];
      const w = [outputs, CHANNELS / group, ...kernelShape];
      return { ...weightGradient({ ...attributes, x, w }, whole(random), dtype, false), exact: true };
    },
  );
}

/** With `ceilMode`, the plain window's last position along an axis reaches beyond the end. */
function pool<K extends OpOf<"pooling">>(
  op: K,
  more: Pick<Listed<OpAttributes[K]>, Exclude<keyof OpAttributes[K], keyof OpAttributes["MaxPool"]>>,
): OptionRow<K> {
  return {
    settings: (dtype) =>
      WINDOWS.map((windows) =>
        setting(
          op,
          {
            ...windowLists(windows),
            kernelShape: windows.kernels.filter((kernel) =>
              isCovered(kernel, { pads: windows.pads[0] ?? [] }),
            ),
            ceilMode: [false, true],
            ...more,
          } as unknown as Listed<OpAttributes[K]>,
          {},
          (attributes, _, random) => {
            const { sizes } = windows;
            const { kernelShape } = attributes;
            if (!fits(sizes, kernelShape, attributes) || !isCovered(kernelShape, attributes))
              return undefined;
            const x = distinct(random, dtype, [BATCH, 2, ...sizes]);
            return op === "MaxPoolGradient"
              ? (gradientSample(random, x, attributes) as never)
              : sample<K>(attributes, x);
          },
        ),
      ),
  };
}

const over = <K extends Op>(make: (dtype: DType, windows: Windows) => Setting<K>): OptionRow<K> => ({
  settings: (dtype) => WINDOWS.map((windows) => make(dtype, windows)),
});

export const windowOptions: OptionRows<OpOf<"convolution" | "pooling">> = {
  Conv: over(convolution),
  ConvTranspose: over(transposed),
  ConvWeightGradient: over(filters),
  MaxPool: pool("MaxPool", {}),
  AveragePool: pool("AveragePool", { countIncludePad: [false, true] }),
  MaxPoolGradient: pool("MaxPoolGradient", {}),
};
