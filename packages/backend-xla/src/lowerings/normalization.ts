import type { OpOf } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { reduceKept } from "../stablehlo/fold.js";
import { count, type Operand, range, rankOf, shapeOf, sizeOf } from "../stablehlo/operand.js";
import { inF32, type Lowering, type LoweringTable } from "./lowering.js";

/** Combines x with an operand that broadcasts to the shape of x. */
export const apply = (
  emitter: Emitter,
  operation: "multiply" | "add" | "subtract",
  x: Operand,
  part: Operand,
): Operand => emitter.binary(operation, x, emitter.expand(part, shapeOf(x)));

interface Shift {
  /** x - max(x), so that no exponential overflows. */
  readonly difference: Operand;
  /** exp(difference). */
  readonly powers: Operand;
  /** Sums of `powers` along the axis, which stays with size 1. */
  readonly sum: Operand;
}

export function shift(emitter: Emitter, x: Operand, axis: number): Shift {
  const most = reduceKept(emitter, "maximum", x, [axis]);
  const difference = apply(emitter, "subtract", x, most);
  const powers = emitter.unary("exponential", difference);
  return { difference, powers, sum: reduceKept(emitter, "add", powers, [axis]) };
}

const softmax: Lowering<"Softmax"> = (emitter, node, [x]) => {
  const { powers, sum } = shift(emitter, x, node.attributes.axis);
  return [emitter.binary("divide", powers, emitter.expand(sum, shapeOf(x)))];
};

const logSoftmax: Lowering<"LogSoftmax"> = (emitter, node, [x]) => {
  const { difference, sum } = shift(emitter, x, node.attributes.axis);
  return [apply(emitter, "subtract", difference, emitter.unary("log", sum))];
};

/** Computes the mean of an f32 operand over axes, which stay with size 1. */
export const mean = (emitter: Emitter, x: Operand, axes: readonly number[]): Operand =>
  average(emitter, reduceKept(emitter, "add", x, axes), count(axes.map((axis) => sizeOf(x, axis))));

/**
 * Divides an f32 sum by the number of its terms. XLA replaces division by a constant with a product, after which the
 * mean of equal numbers may differ from these numbers. On CPUs a select hides the constant; elsewhere it would keep XLA
 * from computing a normalization in one kernel.
 */
export function average(emitter: Emitter, sum: Operand, termCount: number): Operand {
  const terms = emitter.like(sum, termCount);
  if (!emitter.options.isProcessor) return emitter.binary("divide", sum, terms);
  const divisor = emitter.select(emitter.compare("EQ", sum, sum), terms, Number.NaN);
  return emitter.binary("divide", sum, divisor);
}

export const square = (emitter: Emitter, x: Operand): Operand => emitter.binary("multiply", x, x);

/** 1 / √(variance + ε). */
export function inverseDeviation(emitter: Emitter, variance: Operand, epsilon: number): Operand {
  const deviation = emitter.unary("sqrt", emitter.binary("add", variance, epsilon));
  return emitter.binary("divide", emitter.like(variance, 1), deviation);
}

/** Computes the variance from squared differences, so that a large mean costs no precision. */
const layerNormalization: Lowering<"LayerNormalization"> = (emitter, node, operands) => {
  const { axis, epsilon } = node.attributes;
  const [x, scale] = operands;
  const bias = operands.at(2);
  const axes = range(rankOf(x)).slice(axis);
  const center = mean(emitter, x, axes);
  const difference = apply(emitter, "subtract", x, center);
  const variance = mean(emitter, square(emitter, difference), axes);
  const inverse = inverseDeviation(emitter, variance, epsilon);
  const y = apply(emitter, "multiply", apply(emitter, "multiply", difference, inverse), scale);
  return [bias === undefined ? y : apply(emitter, "add", y, bias), center, inverse];
};

const rmsNormalization: Lowering<"RMSNormalization"> = (emitter, node, [x, scale]) => {
  const { axis, epsilon } = node.attributes;
  const squares = mean(emitter, square(emitter, x), range(rankOf(x)).slice(axis));
  const inverse = inverseDeviation(emitter, squares, epsilon);
  return [apply(emitter, "multiply", apply(emitter, "multiply", x, inverse), scale)];
};

export const normalizationLowerings: LoweringTable<OpOf<"normalization">> = {
  Softmax: inF32(softmax),
  LogSoftmax: inF32(logSoftmax),
  LayerNormalization: inF32(layerNormalization),
  RMSNormalization: inF32(rmsNormalization),
};
