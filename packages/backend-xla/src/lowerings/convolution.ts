import type { OpOf, Shape, ValueType } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { type Operand, range, repeated, shapeOf, sizeOf } from "../stablehlo/operand.js";
import { rowMajor } from "../stablehlo/row-major.js";
import { sumParts } from "../stablehlo/sharding.js";
import { listText, typesText, typeText } from "../stablehlo/tensor-type.js";
import { type Lowering, type LoweringTable, resultType } from "./lowering.js";

/** Order of the first two axes: batch and features, or weights' inputs and outputs. Spatial axes follow. */
type Axes = readonly [x: "bf" | "fb", w: "oi" | "io", result: "bf" | "fb"];

interface Convolution {
  readonly axes: Axes;
  readonly strides: readonly number[];
  readonly before: readonly number[];
  readonly after: readonly number[];
  /** Dilations of x, which insert zeros between its elements, and of w. */
  readonly spacing: readonly [x: readonly number[], w: readonly number[]];
  /** The numbers of groups into which the features of x, and its batch, are divided. */
  readonly groups: readonly [features: number, batch: number];
}

/**
 * Emits a convolution. XLA sums half dtypes in f32 and rounds once to the result's dtype. If the result's dtype is a
 * half dtype, XLA calls cuDNN with operands in that dtype; if it is f32, XLA converts the operands to f32 first.
 */
function convolve(
  emitter: Emitter,
  x: Operand,
  w: Operand,
  type: ValueType,
  { axes, strides, before, after, spacing, groups }: Convolution,
): Operand {
  const [xAxes, wAxes, resultAxes] = axes.map((two) => `[${[...two, ...strides.keys()].join(", ")}]`);
  const pads = before.map((size, axis) => listText([size, after[axis] ?? 0])).join(", ");
  const window = `stride = ${listText(strides)}, pad = [${pads}], lhs_dilate = ${listText(spacing[0])}, rhs_dilate = ${listText(spacing[1])}`;
  const precision = emitter.isExact(x)
    ? ", precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]"
    : "";
  return emitter.emit(
    `stablehlo.convolution(${x.name}, ${w.name}) dim_numbers = ${xAxes}x${wAxes}->${resultAxes}, window = {${window}} {batch_group_count = ${groups[1]} : i64, feature_group_count = ${groups[0]} : i64${precision}} : (${typesText([x, w])}) -> ${typeText(type)}`,
    type,
  );
}

/**
 * Adds the bias, if any, before the only rounding. On a GPU this works without f32: XLA fuses a sum in the
 * result's dtype into cuDNN's kernel, which rounds at its end.
 */
function biased(
  emitter: Emitter,
  { dtype, shape }: ValueType,
  bias: Operand | undefined,
  sums: (type: ValueType) => Operand,
): Operand {
  if (bias === undefined) return sums({ dtype, shape });
  const within = emitter.options.isProcessor ? "f32" : dtype;
  const wide = emitter.broadcast(emitter.convert(bias, within), shape, [1]);
  return emitter.convert(emitter.binary("add", sums({ dtype: within, shape }), wide), dtype);
}

/** Returns how many positions a dilated kernel spans after its first element, along each axis. */
const reachOf = (kernel: Shape, dilations: readonly number[]): readonly number[] =>
  kernel.map((size, axis) => (size - 1) * (dilations[axis] ?? 1));

const conv: Lowering<"Conv"> = (emitter, node, operands) => {
  const [x, w] = operands;
  const { strides, pads, dilations, group } = node.attributes;
  const convolution: Convolution = {
    axes: ["bf", "oi", "bf"],
    strides,
    before: pads.slice(0, strides.length),
    after: pads.slice(strides.length),
    spacing: [repeated(1, strides.length), dilations],
    groups: [group, 1],
  };
  const sums = (type: ValueType): Operand => convolve(emitter, x, w, type, convolution);
  return [biased(emitter, resultType(node), operands.at(2), sums)];
};

/** Rearranges weights [C, M / group, k…] to [C / group, M, k…]. */
function joinGroups(emitter: Emitter, w: Operand, group: number): Operand {
  const [channels = 0, results = 0, ...kernel] = shapeOf(w);
  const apart = emitter.reshape(w, [group, channels / group, results, ...kernel]);
  const beside = emitter.transpose(apart, [1, 0, 2, ...kernel.map((_, axis) => axis + 3)]);
  return emitter.reshape(beside, [channels / group, group * results, ...kernel]);
}

/** Inserts strides - 1 zeros between the elements of x and convolves the result with the reversed weights. */
const convTranspose: Lowering<"ConvTranspose"> = (emitter, node, operands) => {
  const [x, w] = operands;
  const { strides, pads, dilations, group, outputPadding } = node.attributes;
  const rank = strides.length;
  const reach = reachOf(shapeOf(w).slice(2), dilations);
  const weights = emitter.reverse(joinGroups(emitter, w, group), range(rank + 2).slice(2));
  const convolution: Convolution = {
    axes: ["bf", "io", "bf"],
    strides: repeated(1, rank),
    before: reach.map((size, axis) => size - (pads[axis] ?? 0)),
    after: reach.map((size, axis) => size - (pads[rank + axis] ?? 0) + (outputPadding[axis] ?? 0)),
    spacing: [strides, dilations],
    groups: [group, 1],
  };
  const sums = (type: ValueType): Operand => convolve(emitter, x, weights, type, convolution);
  return [biased(emitter, resultType(node), operands.at(2), sums)];
};

/** Convolves x with dy and sums over the batch. The channels of x act as the batch axis. */
const convWeightGradient: Lowering<"ConvWeightGradient"> = (emitter, node, [x, dy]) => {
  const { strides, pads, dilations, group, kernelShape } = node.attributes;
  const reach = reachOf(kernelShape, dilations);
  const before = pads.slice(0, strides.length);
  const needed = range(strides.length).map(
    (axis) => (sizeOf(dy, axis + 2) - 1) * (strides[axis] ?? 1) + (reach[axis] ?? 0) + 1,
  );
  const convolution: Convolution = {
    axes: ["fb", "io", "fb"],
    strides: dilations,
    before,
    after: needed.map((size, axis) => size - sizeOf(x, axis + 2) - (before[axis] ?? 0)),
    spacing: [repeated(1, strides.length), strides],
    groups: [1, group],
  };
  const type = resultType(node);
  const sums = (a: Operand, b: Operand): Operand => convolve(emitter, a, b, type, convolution);
  // Keeps the memory order of the weights that the gradient is added to; XLA would change it otherwise.
  return [rowMajor(emitter, sumParts(emitter, [x, dy], type, sums))];
};

export const convolutionLowerings: LoweringTable<OpOf<"convolution">> = {
  Conv: conv,
  ConvTranspose: convTranspose,
  ConvWeightGradient: convWeightGradient,
};
