import {
  type ComputeDType,
  type DType,
  floatFormats,
  type GraphNode,
  isComputeFloat,
  type PoolingWindow,
  type Shape,
  stridesOf,
  tapCounts,
  tapsOf,
  withoutCeiling,
} from "@mp/graph";
import { float, int, type NodeWriter, windowAttributes } from "@mp/onnx/write";
import { inF32 } from "./in-f32.js";
import { at, type OwnLowering, type OwnLoweringsOf, operandType } from "./own-lowering.js";

const spatialShape = (node: GraphNode): Shape => operandType(node).shape.slice(2);

const isWithinKernel = ({ pads, kernelShape }: PoolingWindow): boolean =>
  pads.every((pad, index) => pad < (kernelShape[index % kernelShape.length] ?? 0));

/**
 * Pads x by a Pad node if a pad is not smaller than the kernel size. The engine requires smaller pads,
 * although a dilated kernel spans more than its size.
 */
function withinKernel(
  x: string,
  window: PoolingWindow,
  [value, dtype]: readonly [number, DType],
  writer: NodeWriter,
): readonly [x: string, window: PoolingWindow] {
  const { pads, kernelShape } = window;
  const rank = kernelShape.length;
  if (isWithinKernel(window)) return [x, window];
  const margins = [0, 0, ...pads.slice(0, rank), 0, 0, ...pads.slice(rank)];
  const framed = writer.one("Pad", [x, writer.ints(margins), writer.scalar(value, dtype)]);
  return [framed, { ...window, pads: pads.map(() => 0) }];
}

/** The mean over each window, in which the zeros of the padding count. */
function wholeMean(x: string, window: PoolingWindow, writer: NodeWriter): string {
  return writer.one("AveragePool", [x], { ...windowAttributes(window), count_include_pad: int(1) });
}

/** Exceeds half the largest magnitude, so that x / 2 + `aboveHalf`, even rounded, is ≤ 0 only for -∞. */
const aboveHalf = (dtype: ComputeDType): number => 2 ** floatFormats[dtype].maxExponent;

/** x / 2 + `aboveHalf`, in one pass, by a batch normalization with mean 0, variance 1 and scale ½. */
function aboveZero(node: GraphNode, dtype: ComputeDType, x: string, writer: NodeWriter): string {
  const channels = operandType(node).shape[1] ?? 1;
  const [half, offset, zero, one] = [0.5, aboveHalf(dtype), 0, 1].map((value) =>
    writer.list(new Array<number>(channels).fill(value), dtype),
  ) as [string, string, string, string];
  return writer.one("BatchNormalization", [x, half, offset, zero, one], { epsilon: float(0) });
}

/**
 * Restores NaN and -∞. The engine's maximum drops NaN and starts from the lowest finite number, which some kernels
 * return for a window of only -∞. A mean over values that are 0 for -∞ and positive for other numbers detects both
 * cases. It is NaN if the window has a NaN, and 0 if the window has only -∞. (A mean that overflows is infinite, which
 * is neither.)
 */
const maxPool: OwnLowering<"MaxPool"> = (node, operands, writer) => {
  const { dtype } = operandType(node);
  if (!isComputeFloat(dtype)) throw new Error(`internal: MaxPool of ${dtype}`);
  const [x, window] = withinKernel(
    at(operands, 0),
    withoutCeiling(spatialShape(node), node.attributes),
    [Number.NEGATIVE_INFINITY, dtype],
    writer,
  );
  const most = writer.one("MaxPool", [x], windowAttributes(window));
  const mean = wholeMean(writer.one("Relu", [aboveZero(node, dtype, x, writer)]), window, writer);
  const isNothing = writer.one("Equal", [mean, writer.scalar(0, dtype)]);
  const lowest = writer.scalar(Number.NEGATIVE_INFINITY, dtype);
  const known = writer.one("Where", [isNothing, lowest, most]);
  return [writer.one("Where", [writer.one("IsNaN", [mean]), mean, known])];
};

/** Leaves out, of both sum and divisor, the elements that ceil mode adds beyond the padding. */
const averagePool: OwnLowering<"AveragePool"> = (node, operands, writer) => {
  const { countIncludePad, ...attributes } = node.attributes;
  const x = at(operands, 0);
  const whole = withoutCeiling(spatialShape(node), attributes);
  if (!countIncludePad && isWithinKernel(whole)) {
    return [writer.one("AveragePool", [x], { ...windowAttributes(whole), count_include_pad: int(0) })];
  }
  const counts = tapCounts(spatialShape(node), node.attributes);
  const isWhole = (axis: readonly number[], index: number): boolean =>
    axis.every((count) => count === whole.kernelShape[index]);
  const mean = (of: string, dtype: DType): string => {
    const [framed, window] = withinKernel(of, whole, [0, dtype], writer);
    return wholeMean(framed, window, writer);
  };
  if (counts.every(isWhole)) return [mean(x, operandType(node).dtype)];
  const share = (result: string, axis: readonly number[], index: number): string => {
    if (isWhole(axis, index)) return result;
    const size = whole.kernelShape[index] ?? 1;
    const shares = writer.list(
      axis.map((count) => size / count),
      "f32",
    );
    const column = writer.ints([axis.length, ...counts.slice(index + 1).map(() => 1)]);
    return writer.one("Mul", [result, writer.one("Reshape", [shares, column])]);
  };
  return [inF32(node, x, writer, (wide) => counts.reduce(share, mean(wide, "f32")))];
};

/**
 * Computes the gradient for the padded x, then crops the padding. In a window of only -∞, the engine may
 * choose a position in the padding; the gradient then goes to the window's first element of x.
 */
function gradientWithMargins(
  node: GraphNode<"MaxPoolGradient">,
  operands: readonly string[],
  window: PoolingWindow,
  writer: NodeWriter,
): string {
  const [, { dtype, shape } = operandType(node)] = node.inputs;
  const [dy, x, y] = [0, 1, 2].map((index) => {
    const name = at(operands, index);
    return dtype === "f32" ? name : writer.cast(name, "f32");
  }) as [string, string, string];
  const [framed, inner] = withinKernel(x, window, [Number.NEGATIVE_INFINITY, "f32"], writer);
  const [, found = ""] = writer.emit("MaxPool", [framed], windowAttributes(inner), { outputs: 2 });
  const rank = window.kernelShape.length;
  const [begins, ends] = [window.pads.slice(0, rank), window.pads.slice(rank)].map((pads) => [
    0,
    0,
    ...pads,
  ]) as [number[], number[]];
  const whole = shape.map((size, axis) => size + (begins[axis] ?? 0) + (ends[axis] ?? 0));
  const strides = stridesOf(whole);
  const ones = (count: number): readonly number[] => new Array<number>(count).fill(1);
  const [batch = 1, channels = 1] = shape;
  const planes = Array.from({ length: batch * channels }, (_, plane) => plane * (strides[1] ?? 1));
  const first = tapsOf(shape.slice(2), window).reduce(
    (sum, windows, axis) => {
      const places = windows.map(([tap = 0]) => (tap + (begins[axis + 2] ?? 0)) * (strides[axis + 2] ?? 1));
      const column = writer.ints([places.length, ...ones(rank - axis - 1)]);
      return writer.one("Add", [sum, writer.one("Reshape", [writer.ints(places), column])]);
    },
    writer.one("Reshape", [writer.ints(planes), writer.ints([batch, channels, ...ones(rank)])]),
  );
  const isNothing = writer.one("Equal", [y, writer.scalar(Number.NEGATIVE_INFINITY, "f32")]);
  const flat = (name: string): string => writer.one("Reshape", [name, writer.ints([-1])]);
  const zeros = writer.one("Expand", [
    writer.scalar(0, "f32"),
    writer.ints([whole.reduce((product, size) => product * size, 1)]),
  ]);
  const sums = writer.one(
    "ScatterElements",
    [zeros, flat(writer.one("Where", [isNothing, first, found])), flat(dy)],
    { axis: int(0), reduction: { kind: "string", value: "add" } },
  );
  const dx = writer.one("Slice", [
    writer.one("Reshape", [sums, writer.ints(whole)]),
    writer.ints(begins),
    writer.ints(shape.map((size, axis) => size + (begins[axis] ?? 0))),
  ]);
  return dtype === "f32" ? dx : writer.cast(dx, dtype);
}

export const maxPoolGradient: OwnLowering<"MaxPoolGradient"> = (node, operands, writer) => {
  const [, { shape } = operandType(node)] = node.inputs;
  const window = withoutCeiling(shape.slice(2), node.attributes);
  return isWithinKernel(window) ? undefined : [gradientWithMargins(node, operands, window, writer)];
};

export const poolingLowerings: OwnLoweringsOf<"pooling"> = {
  MaxPool: maxPool,
  MaxPoolGradient: maxPoolGradient,
  AveragePool: averagePool,
};
