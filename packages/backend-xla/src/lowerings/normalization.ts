import type { OpOf } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { count, type Operand, range, rankOf, shapeOf, sizeOf } from "../stablehlo/operand.js";
import { inF32, type Lowering, type LoweringTable } from "./lowering.js";

/** x combined with a part that broadcasts to it. */
export const apply = (
  emitter: Emitter,
  operation: "multiply" | "add" | "subtract",
  x: Operand,
  part: Operand,
): Operand => emitter.binary(operation, x, emitter.expand(part, shapeOf(x)));

interface Shift {
  /** x - max(x), so that no exponential overflows. */
  readonly difference: Operand;
  /** Its exponentials. */
  readonly powers: Operand;
  /** Their sums, with the axis kept as 1. */
  readonly sum: Operand;
}

export function shift(emitter: Emitter, x: Operand, axis: number): Shift {
  const most = emitter.reduceKept("maximum", x, [axis]);
  const difference = apply(emitter, "subtract", x, most);
  const powers = emitter.unary("exponential", difference);
  return { difference, powers, sum: emitter.reduceKept("add", powers, [axis]) };
}

const softmax: Lowering<"Softmax"> = (emitter, node, [x]) => {
  const { powers, sum } = shift(emitter, x, node.attributes.axis);
  return [emitter.binary("divide", powers, emitter.expand(sum, shapeOf(x)))];
};

const logSoftmax: Lowering<"LogSoftmax"> = (emitter, node, [x]) => {
  const { difference, sum } = shift(emitter, x, node.attributes.axis);
  return [apply(emitter, "subtract", difference, emitter.unary("log", sum))];
};

/** The mean of f32 over axes, which stay as 1. */
export const mean = (emitter: Emitter, x: Operand, axes: readonly number[]): Operand =>
  average(emitter, emitter.reduceKept("add", x, axes), count(axes.map((axis) => sizeOf(x, axis))));

/**
 * A sum of f32 divided by the number of its terms. XLA multiplies by the reciprocal of a divisor that it sees is
 * constant; for processors it does not see it, so that the mean of equal numbers is that number. Otherwise a guard would
 * keep XLA from making one kernel of a normalization.
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

/** The variance comes from squared differences, so that a large mean costs no precision. */
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
