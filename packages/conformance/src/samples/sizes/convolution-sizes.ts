/** Convolutions and pools: large batches, long lines, wide planes, many channels. */
import type { HostTensor, Shape } from "@mp/core";
import type { KernelWindow, OpAttributes, PoolingWindow } from "@mp/core/graph";
import { exact, sample } from "../op-sample.js";
import { type SizeRows, shuffled, whole } from "./size-row.js";

interface Convolved {
  readonly x: Shape;
  readonly w: Shape;
  /** Shape of the result without pads and strides. */
  readonly y: Shape;
  readonly group?: number;
}

const CONVOLVED: readonly Convolved[] = [
  { x: [4_133, 1, 11], w: [2, 1, 3], y: [4_133, 2, 9] },
  { x: [66_002, 1, 2], w: [1, 1, 2], y: [66_002, 1, 1] },
  { x: [1, 2, 33_003], w: [2, 2, 3], y: [1, 2, 33_001] },
  { x: [1, 1_031, 4], w: [3, 1_031, 2], y: [1, 3, 3] },
  { x: [1, 1_031, 4], w: [1_031, 1, 2], y: [1, 1_031, 3], group: 1_031 },
  { x: [2, 2, 131, 135], w: [2, 2, 2, 3], y: [2, 2, 130, 133] },
  { x: [4_133, 2, 3, 3], w: [3, 2, 2, 2], y: [4_133, 3, 2, 2] },
];

function attributesOf({ w, group = 1 }: Convolved): OpAttributes["Conv"] {
  const rank = w.length - 2;
  const each = (value: number, count = rank): readonly number[] => new Array<number>(count).fill(value);
  return { strides: each(1), pads: each(0, 2 * rank), dilations: each(1), group };
}

const line = (
  kernel: number,
  stride: number,
): KernelWindow & Pick<PoolingWindow, "kernelShape" | "ceilMode"> => ({
  kernelShape: [kernel],
  strides: [stride],
  pads: [0, 0],
  dilations: [1],
  ceilMode: false,
});

const square: PoolingWindow = {
  kernelShape: [2, 2],
  strides: [2, 2],
  pads: [0, 0, 0, 0],
  dilations: [1, 1],
  ceilMode: false,
};

const POOLS: readonly (readonly [Shape, PoolingWindow])[] = [
  [[4_133, 1, 34], line(2, 2)],
  [[1, 1, 66_002], line(3, 1)],
  [[66_002, 1, 2], line(2, 1)],
  [[1, 1_031, 70], line(2, 2)],
  [[3, 2, 134, 132], square],
  [[2, 1, 2_002], line(1_001, 1_001)],
]; // biome-ignore format: one pool a line

/** The maximum of each window, where windows do not overlap or share only their ends. */
function pooled(x: HostTensor, { kernelShape, strides }: PoolingWindow): HostTensor {
  const [n = 0, c = 0, ...sizes] = x.shape;
  const out = sizes.map(
    (size, axis) => Math.floor((size - (kernelShape[axis] ?? 1)) / (strides[axis] ?? 1)) + 1,
  );
  const [height = 1, width = 1] = sizes.length === 1 ? [1, ...sizes] : sizes;
  const [rows = 1, columns = 1] = out.length === 1 ? [1, ...out] : out;
  const [kh = 1, kw = 1] = sizes.length === 1 ? [1, ...kernelShape] : kernelShape;
  const [sh = 1, sw = 1] = sizes.length === 1 ? [1, ...strides] : strides;
  const data = new Float32Array(n * c * rows * columns);
  for (let at = 0; at < data.length; at++) {
    const [column, row, plane] = [
      at % columns,
      Math.floor(at / columns) % rows,
      Math.floor(at / (columns * rows)),
    ];
    let most = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < kh; i++) {
      for (let j = 0; j < kw; j++) {
        most = Math.max(
          most,
          Number(x.data[plane * height * width + (row * sh + i) * width + column * sw + j]),
        );
      }
    }
    data[at] = most;
  }
  return { dtype: "f32", shape: [n, c, ...out], data };
}

export const convolutionSizes: SizeRows<
  "Conv" | "ConvTranspose" | "ConvWeightGradient" | "MaxPool" | "AveragePool" | "MaxPoolGradient"
> = {
  Conv: () => CONVOLVED.map((sizes) => exact<"Conv">(attributesOf(sizes), whole(sizes.x), whole(sizes.w))),
  ConvTranspose: () =>
    CONVOLVED.map((sizes) =>
      exact<"ConvTranspose">(
        { ...attributesOf(sizes), outputPadding: sizes.w.slice(2).map(() => 0) },
        whole(sizes.y),
        whole(sizes.w),
      ),
    ),
  ConvWeightGradient: () =>
    CONVOLVED.map((sizes) =>
      exact<"ConvWeightGradient">(
        { ...attributesOf(sizes), kernelShape: sizes.w.slice(2) },
        whole(sizes.x),
        whole(sizes.y),
      ),
    ),
  MaxPool: () => POOLS.map(([shape, window]) => exact<"MaxPool">(window, shuffled(shape))),
  AveragePool: () =>
    POOLS.map(([shape, window]) =>
      sample<"AveragePool">({ ...window, countIncludePad: false }, whole(shape)),
    ),
  MaxPoolGradient: () =>
    POOLS.map(([shape, window]) => {
      const x = shuffled(shape);
      const y = pooled(x, window);
      return exact<"MaxPoolGradient">(window, whole(y.shape), x, y);
    }),
};
