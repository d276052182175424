import type { GraphNode, OpOf } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { reduce } from "../stablehlo/fold.js";
import { count, type Operand, range, rankOf, shapeOf, sizeOf } from "../stablehlo/operand.js";
import { expectAll, isInside } from "./in-range.js";
import { inF32, type Lowering, type LoweringTable } from "./lowering.js";
import { apply, shift } from "./normalization.js";

/**
 * Computes -weight · log-probability of each label not ignored; `mean` divides their sum by the weights' sum.
 * @param scores [N, C, d…], whose log-probabilities are `scores` minus the `subtrahend` [N, d…], if any
 */
function likelihood(
  emitter: Emitter,
  { attributes: { reduction, ignoreIndex } }: GraphNode<OpOf<"loss">>,
  scores: Operand,
  labels: Operand,
  weights: Operand | undefined,
  subtrahend?: Operand,
): Operand {
  const shape = shapeOf(scores);
  const isIgnored = ignoreIndex === undefined ? undefined : emitter.compare("EQ", labels, ignoreIndex);
  const unlessIgnored = (x: Operand): Operand =>
    isIgnored === undefined ? x : emitter.select(isIgnored, emitter.like(x, 0), x);
  const isClass = isInside(emitter, labels, sizeOf(scores, 1));
  expectAll(emitter, isIgnored === undefined ? isClass : emitter.binary("or", isClass, isIgnored));

  const otherAxes = range(shape.length).filter((axis) => axis !== 1);
  const isLabel = emitter.compare(
    "EQ",
    emitter.iota("i32", shape, 1),
    emitter.broadcast(labels, shape, otherAxes),
  );
  const pick = (x: Operand): Operand => reduce(emitter, "add", emitter.select(isLabel, x, 0), [1]);
  const picked =
    subtrahend === undefined ? pick(scores) : emitter.binary("subtract", pick(scores), subtrahend);
  const negative = emitter.unary("negate", picked);
  const each = weights && pick(emitter.broadcast(weights, shape, [1]));
  const losses = unlessIgnored(each === undefined ? negative : emitter.binary("multiply", negative, each));
  if (reduction === "none") return losses;

  const sum = (x: Operand): Operand => reduce(emitter, "add", x, range(rankOf(x)));
  if (reduction === "sum") return sum(losses);
  const isCounted = each === undefined && isIgnored === undefined;
  const total = sum(losses);
  const divisor = isCounted
    ? emitter.like(total, count(shapeOf(labels)))
    : sum(unlessIgnored(each ?? emitter.like(losses, 1)));
  return emitter.binary("divide", total, divisor);
}

/** Computes the loss from log-probabilities before they are rounded to the dtype of the scores. */
const crossEntropy: Lowering<"SoftmaxCrossEntropyLoss"> = (emitter, node, operands) => {
  const { difference, sum } = shift(emitter, operands[0], 1);
  const log = emitter.unary("log", sum);
  const perLabel = emitter.reshape(log, shapeOf(operands[1]));
  const loss = likelihood(emitter, node, difference, operands[1], operands.at(2), perLabel);
  return [loss, apply(emitter, "subtract", difference, log)];
};

export const lossLowerings: LoweringTable<OpOf<"loss">> = {
  SoftmaxCrossEntropyLoss: inF32(crossEntropy),
  NegativeLogLikelihoodLoss: inF32((emitter, node, operands) => [
    likelihood(emitter, node, operands[0], operands[1], operands.at(2)),
  ]),
};
