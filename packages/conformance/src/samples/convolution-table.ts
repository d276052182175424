/** Convolutions: channels, kernels and widths that do not fill blocks, and windows that differ by axis. */
import {
  type DType,
  grad,
  type HostTensor,
  type Op,
  type OpAttributes,
  type OpOf,
  type Shape,
  type Tensor,
} from "@mp/graph";
import * as ops from "@mp/graph/ops";
import { inDType } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import { cube } from "./axis-data.js";
import {
  type ConvolutionOp,
  type Convolved,
  conv,
  convolutionBehaviours,
  convTranspose,
  type Make,
  weightGradient,
} from "./convolution-samples.js";
import { farConv } from "./far-rows.js";
import { type GradientSample, gradient, spread, twice } from "./gradient-sample.js";
import type { GeneratedRow, OpTable } from "./op-row.js";
import { exact, smallIntegers } from "./op-sample.js";
import { type Options, type Setting, setting } from "./setting.js";
import { whole } from "./size-data.js";
import { formAt, lengths, sideTriples, terms } from "./tail-data.js";
import { BATCH, fits, WINDOWS, type Windows, windowLists } from "./windows.js";

/** Limits a kernel to the size of a narrow image. */
const up = (size: number, most: number): number => Math.min(size, most);

/** Convolutions with one long axis: of each channel separately, of all channels, and of one channel. */
const ALONG: readonly ((length: number) => Convolved)[] = [
  (n) => ({ x: [1, n, 3, 4], w: [n, 1, 2, 3], group: n, pads: [0, 1, 1, 1] }),
  (n) => ({ x: [1, n, 5], w: [n, 1, 3], group: n }),
  (n) => ({ x: [1, 2, 2, n], w: [3, 2, 2, up(n, 3)] }),
  (n) => ({ x: [2, 1, n], w: [1, 1, 3], pads: [1, 1] }),
  (n) => ({ x: [1, 2, n, 2], w: [2, 1, up(n, 3), 1], group: 2, strides: [2, 1] }),
  (n) => ({ x: [1, 3, 4, n], w: [3, 1, 3, 3], group: 3, pads: [1, 1, 1, 1] }),
  (n) => ({ x: [1, 2, n + 2], w: [2, 2, n] }),
  (n) => ({ x: [n, 2, 2, 2], w: [3, 2, 1, 2] }),
];

/** Convolutions with many channels in and out, with kernels of one element and of more. */
const CHANNELS: readonly ((channels: number, results: number, width: number) => Convolved)[] = [
  (c, m, width) => ({ x: [1, c, 1, width], w: [m, c, 1, 1] }),
  (c, m) => ({ x: [1, c, 3, 2], w: [m, c, 2, 2] }),
  (c, m) => ({ x: [2, c, 3], w: [m, c, 3], pads: [1, 1] }),
];

function convolutionTail<K extends ConvolutionOp>(make: Make<K>): GeneratedRow<K> {
  return (draws) => {
    const draw = (of: DType, shape: Shape) => terms(inDType(draws, of), shape, 2);
    const of = (sample: Convolved, at: number) => ({
      ...make(sample, draw, draws.dtype, at % 2 === 0),
      exact: true,
    });
    const pairs = sideTriples(draws.dtype).filter((_, at) => at % 2 === 0);
    return [
      ...lengths(draws.dtype).map((length) => of(formAt(ALONG, length)(length), length)),
      ...pairs.map(([c, m, width], at) => {
        const form = CHANNELS[at % CHANNELS.length];
        if (form === undefined) throw new Error("internal: a form for each pair");
        return of(form(c, m, width), at);
      }),
    ];
  };
}

interface LargeConvolved {
  readonly x: Shape;
  readonly w: Shape;
  /** Shape of the result without pads and strides. */
  readonly y: Shape;
  readonly group?: number;
}

const LARGE_CONVOLVED: readonly LargeConvolved[] = [
  { x: [4_133, 1, 11], w: [2, 1, 3], y: [4_133, 2, 9] },
  { x: [66_002, 1, 2], w: [1, 1, 2], y: [66_002, 1, 1] },
  { x: [1, 2, 33_003], w: [2, 2, 3], y: [1, 2, 33_001] },
  { x: [1, 1_031, 4], w: [3, 1_031, 2], y: [1, 3, 3] },
  { x: [1, 1_031, 4], w: [1_031, 1, 2], y: [1, 1_031, 3], group: 1_031 },
  { x: [2, 2, 131, 135], w: [2, 2, 2, 3], y: [2, 2, 130, 133] },
  { x: [4_133, 2, 3, 3], w: [3, 2, 2, 2], y: [4_133, 3, 2, 2] },
];

function plainWindow({ w, group = 1 }: LargeConvolved): OpAttributes["Conv"] {
  const rank = w.length - 2;
  const each = (value: number, count = rank): readonly number[] => new Array<number>(count).fill(value);
  return { strides: each(1), pads: each(0, 2 * rank), dilations: each(1), group };
}

/** Windows with stride, dilation or padding at one position only, each position in turn. */
function oneAtATime(rank: number): readonly Pick<Convolved, "strides" | "pads" | "dilations">[] {
  const with2 = (count: number, at: number, low: number) =>
    cube(low, count).map((one, place) => (place === at ? 2 : one));
  const axes = Array.from({ length: rank }, (_, axis) => axis);
  return [
    {},
    ...axes.map((axis) => ({ strides: with2(rank, axis, 1), pads: cube(1, 2 * rank) })),
    ...axes.map((axis) => ({ dilations: with2(rank, axis, 1), pads: cube(2, 2 * rank) })),
    ...cube(0, 2 * rank).map((_, end) => ({ pads: with2(2 * rank, end, 0) })),
  ];
}

const CONVOLVED: readonly Convolved[] = [
  ...oneAtATime(2).flatMap((window) => [
    { x: cube(3, 4), w: cube(3, 4), ...window },
    { x: cube(4, 4), w: [4, 4, 2, 2], ...window },
  ]),
  ...oneAtATime(1).map((window) => ({ x: cube(3, 3), w: cube(3, 3), ...window })),
  ...oneAtATime(2).map((window) => ({ x: cube(3, 4), w: [3, 1, 3, 3], group: 3, ...window })),
  ...[...oneAtATime(3)]
    .filter((_, at) => at % 3 === 0)
    .map((window) => ({ x: cube(2, 5), w: cube(2, 5), ...window })),
  { x: cube(4, 4), w: [4, 2, 4, 4], group: 2 },
  { x: cube(4, 4), w: [4, 2, 2, 2], group: 2, pads: [1, 1, 1, 1] },
  { x: cube(3, 4), w: [3, 3, 1, 1] },
];

function convolutionSides<K extends ConvolutionOp>(make: Make<K>): GeneratedRow<K> {
  return (draws) => {
    const draw = (of: DType, shape: Shape) => terms(inDType(draws, of), shape);
    return CONVOLVED.map((sample, at) => ({
      ...make(sample, draw, draws.dtype, at % 2 === 0),
      exact: true,
    }));
  };
}

const WINDOW_CHANNELS = 4;

const WINDOW_FORMS = {
  group: [1, 2, WINDOW_CHANNELS],
  bias: [false, true],
  outputs: [WINDOW_CHANNELS, 2 * WINDOW_CHANNELS],
} as const;

const smallWholes =
  (random: RandomSource) =>
  (dtype: DType, shape: Shape): HostTensor =>
    smallIntegers({ random, dtype }, shape);

function convolutionSetting(dtype: DType, windows: Windows): Setting<"Conv"> {
  return setting(
    "Conv",
    { ...windowLists(windows), group: WINDOW_FORMS.group },
    { kernel: windows.kernels, bias: WINDOW_FORMS.bias, outputs: WINDOW_FORMS.outputs },
    (attributes, { kernel, bias, outputs }, draws) => {
      if (!fits(windows.sizes, kernel, attributes)) return undefined;
      const [x, w] = [
        [BATCH, WINDOW_CHANNELS, ...windows.sizes],
        [outputs, WINDOW_CHANNELS / attributes.group, ...kernel],
      ];
      return { ...conv({ ...attributes, x, w }, smallWholes(draws.random), dtype, bias), exact: true };
    },
  );
}

function transposeSetting(dtype: DType, windows: Windows): Setting<"ConvTranspose"> {
  const rank = windows.sizes.length;
  const zeros = new Array<number>(rank).fill(0);
  return setting(
    "ConvTranspose",
    {
      ...windowLists(windows),
      group: WINDOW_FORMS.group,
      outputPadding: [zeros, ...zeros.map((_, axis) => zeros.with(axis, 1))],
    },
    { kernel: windows.kernels, bias: WINDOW_FORMS.bias, outputs: WINDOW_FORMS.outputs },
    (attributes, { kernel, bias, outputs }, draws) => {
      const { strides, outputPadding, group } = attributes;
      if (outputPadding.some((padding, axis) => padding >= (strides[axis] ?? 1))) return undefined;
      const draw = smallWholes(draws.random);
      const x = [BATCH, WINDOW_CHANNELS, ...windows.sizes.map((size) => Math.ceil(size / 2))];
      return exact(
        attributes,
        draw(dtype, x),
        draw(dtype, [WINDOW_CHANNELS, outputs / group, ...kernel]),
        ...(bias ? [draw(dtype, [outputs])] : []),
      );
    },
  );
}

function filterSetting(dtype: DType, windows: Windows): Setting<"ConvWeightGradient"> {
  return setting(
    "ConvWeightGradient",
    { ...windowLists(windows), group: WINDOW_FORMS.group, kernelShape: windows.kernels },
    { outputs: WINDOW_FORMS.outputs },
    (attributes, { outputs }, draws) => {
      const { kernelShape, group } = attributes;
      if (!fits(windows.sizes, kernelShape, attributes)) return undefined;
      const x = [BATCH, WINDOW_CHANNELS, ...windows.sizes];
      const w = [outputs, WINDOW_CHANNELS / group, ...kernelShape];
      return {
        ...weightGradient({ ...attributes, x, w }, smallWholes(draws.random), dtype, false),
        exact: true,
      };
    },
  );
}

const overWindows =
  <K extends Op>(make: (dtype: DType, windows: Windows) => Setting<K>): Options<K> =>
  (dtype) =>
    WINDOWS.map((windows) => make(dtype, windows));

const convGradient = (behaviour: string, x: Shape, w: Shape, options: ops.ConvOptions = {}): GradientSample =>
  gradient(behaviour, [spread(x), spread(w, 1)], (image, weights) => ops.conv(image, weights, options));

const convTransposeGradient = (
  behaviour: string,
  x: Shape,
  w: Shape,
  options: ops.ConvTransposeOptions = {},
): GradientSample =>
  gradient(behaviour, [spread(x), spread(w, 1)], (image, weights) =>
    ops.convTranspose(image, weights, options),
  );

/** The gradient of Σ conv(x, w) · dy with respect to w, as a function of x and dy. */
const weightGradientAt = (
  behaviour: string,
  x: Shape,
  w: Shape,
  dy: Shape,
  options: ops.ConvOptions = {},
): GradientSample =>
  gradient(behaviour, [spread(x), spread(w, 1), spread(dy, 2)], (image, weights, result) =>
    grad((kernels: Tensor) => ops.reduceSum(ops.mul(ops.conv(image, kernels, options), result)))(weights),
  );

export const convolutionTable: OpTable<OpOf<"convolution">> = {
  Conv: {
    samples: (draws) => convolutionBehaviours(conv, draws, true),
    tails: convolutionTail(conv),
    sizes: () => LARGE_CONVOLVED.map((sizes) => exact(plainWindow(sizes), whole(sizes.x), whole(sizes.w))),
    sides: convolutionSides(conv),
    options: overWindows(convolutionSetting),
    gradients: twice([
      convGradient("images", [2, 2, 4, 5], [3, 2, 3, 3], { pads: 1 }),
      gradient("bias", [spread([2, 2, 5, 4]), spread([3, 2, 3, 2], 1), spread([3], 2)], (x, w, bias) =>
        ops.conv(x, w, { bias: bias, autoPad: "same", strides: 2 }),
      ),
      convGradient("rows-left-over", [1, 2, 7, 6], [2, 2, 3, 2], { strides: [2, 3], pads: [1, 0, 1, 1] }),
      convGradient("dilated-in-groups", [1, 4, 6, 5], [2, 2, 2, 2], { dilations: [2, 3], group: 2 }),
      convGradient("each-channel", [2, 3, 4, 4], [3, 1, 3, 3], { group: 3, autoPad: "same" }),
      convGradient("lines", [2, 3, 6], [2, 3, 3], { strides: 2, pads: 1 }),
      convGradient("volumes", [1, 2, 3, 3, 4], [2, 2, 2, 2, 2], { strides: [1, 2, 1], pads: 1 }),
      convGradient("overhanging-kernels", [1, 2, 2, 2], [2, 2, 3, 4], { pads: [1, 1, 1, 2] }),
    ]),
    rare: [farConv(false)],
  },
  ConvTranspose: {
    samples: (draws) => convolutionBehaviours(convTranspose, draws, true),
    tails: convolutionTail(convTranspose),
    sizes: () =>
      LARGE_CONVOLVED.map((sizes) =>
        exact(
          { ...plainWindow(sizes), outputPadding: sizes.w.slice(2).map(() => 0) },
          whole(sizes.y),
          whole(sizes.w),
        ),
      ),
    sides: convolutionSides(convTranspose),
    options: overWindows(transposeSetting),
    gradients: twice([
      convTransposeGradient("images", [2, 3, 3, 4], [3, 2, 3, 3], { pads: 1 }),
      gradient("bias", [spread([2, 2, 3, 2]), spread([2, 3, 2, 3], 1), spread([3], 2)], (x, w, bias) =>
        ops.convTranspose(x, w, { bias: bias, strides: 2 }),
      ),
      convTransposeGradient("rows-added", [1, 2, 3, 2], [2, 2, 3, 3], {
        strides: [2, 3],
        outputPadding: [1, 2],
        pads: [1, 0, 1, 1],
      }),
      convTransposeGradient("dilated-in-groups", [1, 4, 3, 3], [4, 1, 2, 2], { dilations: [1, 2], group: 2 }),
      convTransposeGradient("lines", [2, 3, 4], [3, 2, 3], { strides: 2 }),
      convTransposeGradient("volumes", [1, 2, 2, 3, 2], [2, 2, 2, 2, 2], { strides: [1, 2, 1] }),
    ]),
    rare: [farConv(true)],
  },
  ConvWeightGradient: {
    samples: (draws) => convolutionBehaviours(weightGradient, draws, false),
    tails: convolutionTail(weightGradient),
    sizes: () =>
      LARGE_CONVOLVED.map((sizes) =>
        exact({ ...plainWindow(sizes), kernelShape: sizes.w.slice(2) }, whole(sizes.x), whole(sizes.y)),
      ),
    sides: convolutionSides(weightGradient),
    options: overWindows(filterSetting),
    gradients: [
      weightGradientAt("images", [2, 2, 4, 4], [3, 2, 3, 3], [2, 3, 4, 4], { pads: 1 }),
      weightGradientAt("rows-left-over-in-groups", [1, 4, 5, 4], [2, 2, 2, 2], [1, 2, 2, 2], {
        strides: 2,
        group: 2,
      }),
    ],
  },
};
