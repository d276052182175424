import {
  type DType,
  floatFormats,
  type GraphNode,
  type OpOf,
  type PoolingWindow,
  type Shape,
  tapCounts,
  withoutCeiling,
} from "@mp/graph";
import { ints, string, type TfAttributes, type } from "../graph/attributes.js";
import type { ScopeWriter } from "../graph/scope-writer.js";
import type { Term } from "../graph/term.js";
import { channelsLast, toChannelsFirst, toChannelsLast } from "./channels-last.js";
import { inF32 } from "./in-f32.js";
import { type Lowering, type LoweringTable, padPairs, resultAt } from "./lowering.js";
import { firstLargest, type Pool, poolBySlices } from "./pooling-by-slices.js";

function plan(node: GraphNode<OpOf<"pooling">>, x: Term, pooled: Shape): Pool {
  return { x, pooled, window: withoutCeiling(x.shape.slice(2), node.attributes) };
}

/** Whether the engine has a kernel: not for dilations, nor for 3-D pooling, whose kernels cannot pad. */
function hasKernel({ x, window }: Pool): boolean {
  return x.shape.length <= 4 && window.dilations.every((dilation) => dilation === 1);
}

/** Extends a list with one entry per spatial axis to two axes; 1-D data is a plane of one column. */
const twoAxes = (numbers: readonly number[]): readonly number[] =>
  numbers.length === 2 ? numbers : [...numbers, 1];

/** Returns the shape [N, C, d…] as [N, h, w, C] for the kernels. */
function fourAxes([batch = 1, channels = 1, ...sizes]: Shape): Shape {
  return [batch, ...twoAxes(sizes), channels];
}

const intoKernel = (x: Term, writer: ScopeWriter): Term =>
  toChannelsLast(x, writer).reshape(fourAxes(x.shape));

const outOfKernel = (y: Term, shape: Shape, writer: ScopeWriter): Term =>
  toChannelsFirst(y.reshape(channelsLast(shape)), shape, writer);

/** Padding before and after each axis of [N, h, w, C]. */
function widths({ pads }: PoolingWindow): ReturnType<typeof padPairs> {
  const column = pads.length === 2 ? [[0, 0] as const] : [];
  return [[0, 0], ...padPairs(pads), ...column, [0, 0]];
}

const kernelAttributes = (dtype: DType, { kernelShape, strides }: PoolingWindow): TfAttributes => ({
  T: type(dtype),
  ksize: ints([1, ...twoAxes(kernelShape), 1]),
  strides: ints([1, ...twoAxes(strides), 1]),
  data_format: string("NHWC"),
});

function maximumAttributes(dtype: DType, window: PoolingWindow): TfAttributes {
  const pairs = widths(window).flat();
  const isPadded = pairs.some((width) => width > 0);
  return {
    ...kernelAttributes(dtype, window),
    padding: string(isPadded ? "EXPLICIT" : "VALID"),
    explicit_paddings: ints(isPadded ? pairs : []),
  };
}

/** The mean over each window, including the zeros of the padding. */
function wholeMean(x: Term, { window, pooled }: Pool, writer: ScopeWriter): Term {
  const { dtype } = x;
  const attributes = { ...kernelAttributes(dtype, window), padding: string("VALID") };
  return writer.term("AvgPool", [x.pad(widths(window), 0)], attributes, { dtype, shape: fourAxes(pooled) });
}

/**
 * Restores NaN and -∞. The kernel drops NaN, and gives the lowest finite number for a window of only -∞. A mean over
 * values that are 0 for -∞ and positive for other numbers detects both cases. It is NaN if the window has a NaN, and 0
 * if the window has only -∞.
 */
const maxPool: Lowering<"MaxPool"> = (node, operands, writer) => {
  const pool = plan(node, operands[0], resultAt(node).shape);
  const { pooled, window } = pool;
  if (!hasKernel(pool)) return maxBySlices(node, operands, writer);
  const x = intoKernel(operands[0], writer);
  const { dtype } = x;
  const attributes = maximumAttributes(dtype, window);
  const most = writer.term("MaxPool", [x], attributes, { dtype, shape: fourAxes(pooled) });
  // Half the lowest finite number plus this is above 0.
  const aboveHalf = writer.scalar(2 ** floatFormats[dtype as "f32"].maxExponent, dtype);
  const mean = wholeMean(x.mul(0.5).add(aboveHalf).op("Relu"), pool, writer);
  const infinity = writer.scalar(Number.NEGATIVE_INFINITY, dtype);
  const known = mean.op("Equal", 0).select(infinity, most);
  return [outOfKernel(mean.op("IsNan").select(mean, known), pooled, writer)];
};

const maxBySlices: Lowering<"MaxPool"> = inF32((node, [x]) => [
  poolBySlices(plan(node, x, resultAt(node).shape), "Maximum", Number.NEGATIVE_INFINITY),
]);

/** Sums in f32 and divides by the number of elements of the window that count. */
const averagePool: Lowering<"AveragePool"> = inF32((node, [x], writer) => {
  const pool = plan(node, x, resultAt(node).shape);
  const isMean = hasKernel(pool);
  const whole = isMean
    ? outOfKernel(wholeMean(intoKernel(x, writer), pool, writer), pool.pooled, writer)
    : poolBySlices(pool, "AddV2", 0);
  const counts = tapCounts(x.shape.slice(2), node.attributes);
  const mean = counts.reduce((result, axis, index) => {
    const size = isMean ? (pool.window.kernelShape[index] ?? 1) : 1;
    if (axis.every((count) => count === size)) return result;
    const data = Float32Array.from(axis, (count) => size / count);
    const column = [axis.length, ...counts.slice(index + 1).map(() => 1)];
    return result.mul(writer.constant({ dtype: "f32", shape: column, data }));
  }, whole);
  return [mean];
});

/** Sends the gradient of a window to its first largest element, as the kernel does. */
const maxPoolGradient: Lowering<"MaxPoolGradient"> = (node, operands, writer) => {
  const [dy, x, y] = operands;
  const pool = plan(node, x, dy.shape);
  if (!hasKernel(pool)) return gradientBySlices(node, operands, writer);
  const [gradient, image, most] = [dy, x, y].map((each) => intoKernel(each, writer)) as [Term, Term, Term];
  const attributes = maximumAttributes(x.dtype, pool.window);
  const dx = writer.term("MaxPoolGrad", [image, most, gradient], attributes, image);
  return [outOfKernel(dx, x.shape, writer)];
};

const gradientBySlices: Lowering<"MaxPoolGradient"> = inF32((node, [dy, x, y]) => [
  firstLargest(plan(node, x, dy.shape), y, dy),
]);

export const poolingLowerings: LoweringTable<OpOf<"pooling">> = {
  MaxPool: maxPool,
  AveragePool: averagePool,
  MaxPoolGradient: maxPoolGradient,
};
