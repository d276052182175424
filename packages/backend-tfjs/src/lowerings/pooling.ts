import type { DType, Shape } from "@mp/core";
import { floatFormats, type GraphNode, type PoolingWindow, tapCounts, withoutCeiling } from "@mp/core/graph";
import {
  ints,
  type Lowering,
  type LoweringTable,
  string,
  type TfAttributes,
  type TfWriter,
  type,
} from "../graph/tf-writer.js";
import { channelsLast, toChannelsFirst, toChannelsLast } from "./channels-last.js";
import { emitT, operandAt, padded, reshape, resultAt, typeAt } from "./lowering.js";
import { firstLargest, pooledBySlices, type Sliced } from "./pooling-by-slices.js";
import { inF32 } from "./twins.js";

type PoolOp = "MaxPool" | "AveragePool" | "MaxPoolGradient";

/** A pool over 1-D or 2-D data, in the engine's axis order; 1-D data is a plane of one column. */
interface Planes {
  readonly dtype: DType;
  /** [N, C, d…] */
  readonly shape: Shape;
  readonly pooled: Shape;
  readonly window: PoolingWindow;
}

/** The engine's kernels have no dilation, and no padding in 3-D. */
function isPlanar({ shape, window }: Planes): boolean {
  return shape.length <= 4 && window.dilations.every((dilation) => dilation === 1);
}

const square = (numbers: readonly number[], last: number): readonly number[] =>
  numbers.length === 2 ? numbers : [...numbers, last];

/** [N, h, w, C] */
function fourAxes([batch = 1, channels = 1, ...sizes]: Shape): Shape {
  return [batch, ...square(sizes, 1), channels];
}

function intoKernel(x: string, dtype: DType, shape: Shape, writer: TfWriter): string {
  return reshape(
    toChannelsLast(x, { dtype, shape }, writer),
    dtype,
    channelsLast(shape),
    fourAxes(shape),
    writer,
  );
}

function outOfKernel(y: string, dtype: DType, shape: Shape, writer: TfWriter): string {
  return toChannelsFirst(
    reshape(y, dtype, fourAxes(shape), channelsLast(shape), writer),
    { dtype, shape },
    writer,
  );
}

/** Padding before and after each axis of [N, h, w, C]. */
function pairsOf({ pads }: PoolingWindow): readonly (readonly [number, number])[] {
  const rank = pads.length / 2;
  const own = Array.from({ length: rank }, (_, axis) => [pads[axis] ?? 0, pads[rank + axis] ?? 0] as const);
  const column = rank === 1 ? [[0, 0] as const] : [];
  return [[0, 0], ...own, ...column, [0, 0]];
}

const kernelOf = (dtype: DType, { kernelShape, strides }: PoolingWindow): TfAttributes => ({
  T: type(dtype),
  ksize: ints([1, ...square(kernelShape, 1), 1]),
  strides: ints([1, ...square(strides, 1), 1]),
  data_format: string("NHWC"),
});

function maximumOf(dtype: DType, window: PoolingWindow): TfAttributes {
  const pairs = pairsOf(window).flat();
  const isPadded = pairs.some((width) => width > 0);
  const padding = {
    padding: string(isPadded ? "EXPLICIT" : "VALID"),
    explicit_paddings: ints(isPadded ? pairs : []),
  };
  return { ...kernelOf(dtype, window), ...padding };
}

/** The mean over each window; the zeros of the padding count as elements. */
function wholeMean(x: string, { dtype, window }: Planes, writer: TfWriter): string {
  const whole = padded(x, dtype, pairsOf(window), 0, writer);
  return writer.one("AvgPool", [whole], { ...kernelOf(dtype, window), padding: string("VALID") });
}

function planesOf(node: GraphNode<PoolOp>, index: number, pooled: Shape): Planes {
  const { dtype, shape } = typeAt(node, index);
  return { dtype, shape, pooled, window: withoutCeiling(shape.slice(2), node.attributes) };
}

/**
 * The kernel drops NaN. It starts at the lowest finite number, which it also returns for a window of only -infinity.
 * The mean over values that are 0 for -infinity and above 0 for all else shows both: it is NaN where there was a NaN,
 * and 0 where the window held only -infinity.
 */
const maxPool: Lowering<"MaxPool"> = (node, operands, writer) => {
  const planes = planesOf(node, 0, resultAt(node).shape);
  const { dtype, shape, pooled, window } = planes;
  if (!isPlanar(planes)) return maxBySlices(node, operands, writer);
  const x = intoKernel(operandAt(operands, 0), dtype, shape, writer);
  const most = writer.one("MaxPool", [x], maximumOf(dtype, window));
  // Half the lowest finite number plus this is above 0.
  const aboveHalf = writer.scalar(2 ** floatFormats[dtype as "f32"].maxExponent, dtype);
  const half = emitT("Mul", [x, writer.scalar(0.5, dtype)], dtype, writer);
  const above = emitT("Relu", [emitT("AddV2", [half, aboveHalf], dtype, writer)], dtype, writer);
  const mean = wholeMean(above, planes, writer);
  const infinity = writer.scalar(Number.NEGATIVE_INFINITY, dtype);
  const isNone = emitT("Equal", [mean, writer.scalar(0, dtype)], dtype, writer);
  const known = emitT("SelectV2", [isNone, infinity, most], dtype, writer);
  const y = emitT("SelectV2", [emitT("IsNan", [mean], dtype, writer), mean, known], dtype, writer);
  return [outOfKernel(y, dtype, pooled, writer)];
};

const slicedOf = (node: GraphNode<PoolOp>, x: string, index: number, pooled: Shape): Sliced => ({
  ...planesOf(node, index, pooled),
  x,
});

const maxBySlices: Lowering<"MaxPool"> = inF32((node, operands, writer) => {
  const sliced = slicedOf(node, operandAt(operands, 0), 0, resultAt(node).shape);
  return [pooledBySlices(sliced, "Maximum", Number.NEGATIVE_INFINITY, writer)];
});

/** Sums in f32, divided by the number of elements that count. */
const averagePool: Lowering<"AveragePool"> = inF32((node, operands, writer) => {
  const planes = planesOf(node, 0, resultAt(node).shape);
  const { shape, pooled, window } = planes;
  const x = operandAt(operands, 0);
  const isMean = isPlanar(planes);
  const whole = isMean
    ? outOfKernel(wholeMean(intoKernel(x, "f32", shape, writer), planes, writer), "f32", pooled, writer)
    : pooledBySlices(slicedOf(node, x, 0, pooled), "AddV2", 0, writer);
  const counts = tapCounts(shape.slice(2), node.attributes);
  return [
    counts.reduce((result, axis, index) => {
      const size = isMean ? (window.kernelShape[index] ?? 1) : 1;
      if (axis.every((count) => count === size)) return result;
      const data = Float32Array.from(axis, (count) => size / count);
      const column = [axis.length, ...counts.slice(index + 1).map(() => 1)];
      const shares = writer.constant({ dtype: "f32", shape: column, data });
      return emitT("Mul", [result, shares], "f32", writer);
    }, whole),
  ];
});

/** Among equal elements the kernel takes the first. */
const maxPoolGradient: Lowering<"MaxPoolGradient"> = (node, operands, writer) => {
  const planes = planesOf(node, 1, typeAt(node, 0).shape);
  const { dtype, shape, pooled, window } = planes;
  if (!isPlanar(planes)) return gradientBySlices(node, operands, writer);
  const [dy, x, y] = [
    intoKernel(operandAt(operands, 0), dtype, pooled, writer),
    intoKernel(operandAt(operands, 1), dtype, shape, writer),
    intoKernel(operandAt(operands, 2), dtype, pooled, writer),
  ];
  const dx = writer.one("MaxPoolGrad", [x, y, dy], maximumOf(dtype, window));
  return [outOfKernel(dx, dtype, shape, writer)];
};

const gradientBySlices: Lowering<"MaxPoolGradient"> = inF32((node, operands, writer) => {
  const sliced = slicedOf(node, operandAt(operands, 1), 1, typeAt(node, 0).shape);
  return [firstLargest(sliced, operandAt(operands, 2), operandAt(operands, 0), writer)];
});

export const poolingLowerings: LoweringTable<PoolOp> = {
  MaxPool: maxPool,
  AveragePool: averagePool,
  MaxPoolGradient: maxPoolGradient,
};
