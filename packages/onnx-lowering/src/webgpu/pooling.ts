/**
 * Computes window maxima axis by axis, because the provider's kernel drops NaN, starts from the lowest finite number,
 * and gives indices that no other kernel can read.
 */
import { type GraphNode, type PoolingWindow, type Shape, windowExtent, withoutCeiling } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { at, type OwnLowering, type OwnLoweringsOf, operandType } from "../lowerings/own-lowering.js";
import { frame, type Shaped, spread, takeEvery } from "./along-axis.js";

/** The windows along one spatial axis. */
interface AxisWindow {
  /** Axis of the value, batch and channels included. */
  readonly axis: number;
  readonly kernel: number;
  readonly stride: number;
  readonly dilation: number;
  readonly begin: number;
  readonly end: number;
}

function axisWindows(shape: Shape, attributes: PoolingWindow): readonly AxisWindow[] {
  const spatial = shape.slice(2);
  const { kernelShape, strides, pads, dilations } = withoutCeiling(spatial, attributes);
  return spatial.map((_, index) => ({
    axis: index + 2,
    kernel: kernelShape[index] ?? 1,
    stride: strides[index] ?? 1,
    dilation: dilations[index] ?? 1,
    begin: pads[index] ?? 0,
    end: pads[spatial.length + index] ?? 0,
  }));
}

/** Slices of the padded value, one per kernel tap; each holds the elements of all windows at that tap. */
function windowTaps(
  x: Shaped,
  dtype: "f32" | "f16",
  window: AxisWindow,
  writer: NodeWriter,
): readonly Shaped[] {
  const { axis, kernel, stride, dilation, begin, end } = window;
  const padded = frame(x, axis, [begin, end], [Number.NEGATIVE_INFINITY, dtype], writer);
  const extent = windowExtent(kernel, dilation);
  const count = Math.floor(((padded.shape[axis] ?? 0) - extent) / stride) + 1;
  return Array.from({ length: kernel }, (_, tap) =>
    takeEvery(padded, axis, { start: tap * dilation, step: stride, count }, writer),
  );
}

const floatDType = (node: GraphNode): "f32" | "f16" => (operandType(node).dtype === "f16" ? "f16" : "f32");

/** Takes maxima over the taps with `Max`, which keeps NaN. */
const maxPool: OwnLowering<"MaxPool"> = (node, operands, writer) => {
  const { shape } = operandType(node);
  const pooled = axisWindows(shape, node.attributes).reduce<Shaped>(
    (x, window) => {
      const taps = windowTaps(x, floatDType(node), window, writer);
      const [first, ...others] = taps;
      if (first === undefined) return x;
      const name = others.reduce((most, tap) => writer.one("Max", [most, tap.name]), first.name);
      return { name, shape: first.shape };
    },
    { name: at(operands, 0), shape },
  );
  return [pooled.name];
};

/** The largest element of each window along one axis (the first of equal elements), and its position. */
interface Found {
  readonly most: Shaped;
  /** Position of the largest element in its window, as f32. */
  readonly place: string;
  readonly window: AxisWindow;
  /** Size of the axis before pooling. */
  readonly size: number;
}

/** Finds the largest elements, ignoring NaN; in a window of only -∞, the first one outside of the padding. */
function findLargest(x: Shaped, dtype: "f32" | "f16", window: AxisWindow, writer: NodeWriter): Found {
  const { axis, stride, dilation, begin } = window;
  const taps = windowTaps(x, dtype, window, writer);
  const shape = taps[0]?.shape ?? x.shape;
  const count = shape[axis] ?? 0;
  const firstInside = Array.from({ length: count }, (_, at) =>
    Math.max(0, Math.ceil((begin - at * stride) / dilation)),
  );
  const column = shape.map((_, index) => (index === axis ? count : 1));
  let place = writer.one("Reshape", [writer.list(firstInside, "f32"), writer.ints(column)]);
  let most = writer.scalar(Number.NEGATIVE_INFINITY, dtype);
  taps.forEach((tap, index) => {
    const isLarger = writer.one("Greater", [tap.name, most]);
    place = writer.one("Where", [isLarger, writer.scalar(index, "f32"), place]);
    most = writer.one("Where", [isLarger, tap.name, most]);
  });
  return { most: { name: most, shape }, place, window, size: x.shape[axis] ?? 0 };
}

/** Sends each window's gradient along one axis back to the position of the window's largest element. */
function throughWindows(dy: string, { most, place, window, size }: Found, writer: NodeWriter): string {
  const { axis, kernel, stride, dilation, begin, end } = window;
  const placed = Array.from({ length: kernel }, (_, tap) => {
    const isHere = writer.one("Equal", [place, writer.scalar(tap, "f32")]);
    const name = writer.one("Where", [isHere, dy, writer.scalar(0, "f32")]);
    return { name, offset: tap * dilation };
  });
  const padded = Math.max(size + begin + end, 1);
  const whole = spread(placed, most.shape, axis, { step: stride, size: padded, dtype: "f32" }, writer);
  return frame(whole, axis, [-begin, -end], [0, "f32"], writer).name;
}

/** Sums of at most this many terms may be rounded after each term. */
const FEW_TERMS = 4;

/** Largest number of windows in which one element occurs. */
const overlap = (windows: readonly AxisWindow[]): number =>
  windows.reduce((most, { kernel, stride }) => most * Math.ceil(kernel / stride), 1);

/**
 * Splits elements into multiples of a unit and remainders. The unit is so large that sums of `terms`
 * multiples are exact. If it would overflow, the first parts are the elements themselves, the remainders 0.
 */
function inParts(x: string, terms: number, writer: NodeWriter): readonly [string, string] {
  const zero = writer.scalar(0, "f32");
  const most = writer.one("ReduceMax", [writer.one("Abs", [x])], { keepdims: int(0) });
  const above = writer.one("Mul", [most, writer.scalar(4 * terms, "f32")]);
  const isBounded = writer.one("Less", [above, writer.scalar(Number.POSITIVE_INFINITY, "f32")]);
  const unit = writer.one("Where", [isBounded, above, zero]);
  const whole = writer.one("Sub", [writer.one("Add", [x, unit]), unit]);
  return [whole, writer.one("Where", [isBounded, writer.one("Sub", [x, whole]), zero])];
}

/**
 * Finds the largest element of a window along the last axis, then along the axis before, and so on, which
 * selects the first of equal elements. Gradients are summed in f32 in a fixed order, so that every run gives
 * the same bits; sums of many terms, which would be rounded after each axis, are computed in two parts.
 */
const maxPoolGradient: OwnLowering<"MaxPoolGradient"> = (node, operands, writer) => {
  const [, { dtype, shape } = operandType(node)] = node.inputs;
  const float = dtype === "f16" ? "f16" : "f32";
  const stages: Found[] = [];
  let x: Shaped = { name: at(operands, 1), shape };
  const windows = axisWindows(shape, node.attributes);
  for (const window of windows.toReversed()) {
    const stage = findLargest(x, float, window, writer);
    stages.push(stage);
    x = stage.most;
  }
  const dy = writer.cast(at(operands, 0), "f32");
  const through = (x: string): string =>
    stages.reduceRight((to, stage) => throughWindows(to, stage, writer), x);
  const terms = overlap(windows);
  const parts = terms > FEW_TERMS ? inParts(dy, terms, writer) : [dy];
  const [dx = "", rest] = parts.map(through);
  return [writer.cast(rest === undefined ? dx : writer.one("Add", [dx, rest]), dtype)];
};

export const poolingLowerings: OwnLoweringsOf<"pooling"> = {
  MaxPool: maxPool,
  MaxPoolGradient: maxPoolGradient,
};
