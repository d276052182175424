import type { OpOf, Shape, ValueType } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { type Operand, range, repeated, shapeOf, sizeOf } from "../stablehlo/operand.js";
import { rowMajor } from "../stablehlo/row-major.js";
import { sumParts } from "../stablehlo/sharding.js";
import { listText, typesText, typeText } from "../stablehlo/tensor-type.js";
import { type Lowering, type LoweringTable, resultType } from "./lowering.js";

/** What an axis is: batch or features, inputs or outputs of the weights. The spatial axes follow. */
type Axes = readonly [x: "bf" | "fb", w: "oi" | "io", result: "bf" | "fb"];

interface Convolution {
  readonly axes: Axes;
  readonly strides: readonly number[];
  readonly before: readonly number[];
  readonly after: readonly number[];
  /** Distances between neighboring elements of x, and of w. */
  readonly spacing: readonly [x: readonly number[], w: readonly number[]];
  /** Groups of features of x, or of its batch. */
  readonly groups: readonly [features: number, batch: number];
}

/**
 * Sums of products. XLA sums halves in f32 and rounds once to the result's dtype; it calls cuDNN with halves if that is
 * a half, and converts them to f32 first if it is f32.
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

/** Adds the bias of each channel, if any, in the dtype of both: so it becomes a part of cuDNN's kernel. */
const addBias = (emitter: Emitter, sums: Operand, bias: Operand | undefined): Operand =>
  bias === undefined ? sums : emitter.binary("add", sums, emitter.broadcast(bias, shapeOf(sums), [1]));

/** The extent of weights [_, _, k…] beyond their first element. */
const reachOf = (kernel: Shape, dilations: readonly number[]): readonly number[] =>
  kernel.map((size, axis) => (size - 1) * (dilations[axis] ?? 1));

const conv: Lowering<"Conv"> = (emitter, node, operands) => {
  const [x, w] = operands;
  const { strides, pads, dilations, group } = node.attributes;
  const sums = convolve(emitter, x, w, resultType(node), {
    axes: ["bf", "oi", "bf"],
    strides,
    before: pads.slice(0, strides.length),
    after: pads.slice(strides.length),
    spacing: [repeated(1, strides.length), dilations],
    groups: [group, 1],
  });
  return [addBias(emitter, sums, operands.at(2))];
};

/** Weights [C, M / group, k…] as [C / group, M, k…]. */
function joinGroups(emitter: Emitter, w: Operand, group: number): Operand {
  const [channels = 0, results = 0, ...kernel] = shapeOf(w);
  const apart = emitter.reshape(w, [group, channels / group, results, ...kernel]);
  const beside = emitter.transpose(apart, [1, 0, 2, ...kernel.map((_, axis) => axis + 3)]);
  return emitter.reshape(beside, [channels / group, group * results, ...kernel]);
}

/** A convolution of x with strides - 1 zeros between its elements, by the weights in reverse order. */
const convTranspose: Lowering<"ConvTranspose"> = (emitter, node, operands) => {
  const [x, w] = operands;
  const { strides, pads, dilations, group, outputPadding } = node.attributes;
  const rank = strides.length;
  const reach = reachOf(shapeOf(w).slice(2), dilations);
  const weights = emitter.reverse(joinGroups(emitter, w, group), range(rank + 2).slice(2));
  const sums = convolve(emitter, x, weights, resultType(node), {
    axes: ["bf", "io", "bf"],
    strides: repeated(1, rank),
    before: reach.map((size, axis) => size - (pads[axis] ?? 0)),
    after: reach.map((size, axis) => size - (pads[rank + axis] ?? 0) + (outputPadding[axis] ?? 0)),
    spacing: [strides, dilations],
    groups: [group, 1],
  });
  return [addBias(emitter, sums, operands.at(2))];
};

/** A convolution of x by dy that sums over the batch, so that x's channels take the place of a batch. */
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
  // In the order of the weights that it is added to, which XLA would change otherwise.
  return [rowMajor(emitter, sumParts(emitter, [x, dy], type, sums))];
};

export const convolutionLowerings: LoweringTable<OpOf<"convolution">> = {
  Conv: conv,
  ConvTranspose: convTranspose,
  ConvWeightGradient: convWeightGradient,
};
