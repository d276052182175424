import { type GraphNode, type OpOf, tensor } from "@mp/graph";
import type { ScopeWriter } from "../graph/scope-writer.js";
import type { Term } from "../graph/term.js";
import { inF32 } from "./in-f32.js";
import { coordinate, stack } from "./indices.js";
import { count, type Lowering, type LoweringTable, type Operands } from "./lowering.js";
import { logSoftmax } from "./normalization.js";

/** Picks each label's log-probability, [N · D], from all classes', [N, C, D]; invalid labels fail the run. */
function pick(logs: Term, labels: Term, writer: ScopeWriter): Term {
  const [batch = 0, classes = 0, ...sizes] = logs.shape;
  const inner = count(sizes);
  if (inner === 1) return logs.reshape([batch, classes]).gather(labels, 1, 1);
  const blocks = logs.reshape([batch, classes, inner]);
  const grid = [batch, inner];
  const line = labels.reshape(grid);
  const places = stack([coordinate(grid, 0, writer), line, coordinate(grid, 1, writer)], grid, writer);
  return blocks.gatherNd(places).reshape([batch * inner]);
}

/** -weight · log-probability of each label that is not ignored, reduced; `mean` divides by Σ weight. */
function loss(
  logs: Term,
  { attributes: { reduction, ignoreIndex } }: GraphNode<OpOf<"loss">>,
  [, target, weights]: readonly Term[],
  writer: ScopeWriter,
): Term {
  const { shape } = target as Term;
  const size = count(shape);
  const given = (target as Term).reshape([size]);
  const isIgnored = ignoreIndex === undefined ? undefined : given.op("Equal", ignoreIndex);
  // Labels to ignore are class 0 until their losses become 0.
  const labels = isIgnored === undefined ? given : isIgnored.select(writer.scalar(0, "i32"), given);
  const unlessIgnored = (x: Term): Term =>
    isIgnored === undefined ? x : isIgnored.select(writer.scalar(0, "f32"), x);
  const negative = pick(logs, labels, writer).op("Neg");
  const each = weights?.gather(labels, 0);
  const losses = unlessIgnored(each === undefined ? negative : negative.mul(each));
  if (reduction === "none") return losses.reshape(shape);
  const sum = losses.reduce("Sum", [0], false);
  if (reduction === "sum") return sum;
  if (each === undefined && isIgnored === undefined) return sum.div(size);
  const ones = writer.constant(tensor(new Float32Array(size).fill(1)));
  return sum.div(unlessIgnored(each ?? ones).reduce("Sum", [0], false));
}

/** Computes the loss from the log-probabilities before these are rounded to the scores' dtype. */
const crossEntropy: Lowering<"SoftmaxCrossEntropyLoss"> = (node, operands: Operands, writer) => {
  const logs = logSoftmax(operands[0], 1);
  return [loss(logs, node, operands, writer), logs];
};

const likelihood: Lowering<"NegativeLogLikelihoodLoss"> = (node, operands, writer) => [
  loss(operands[0], node, operands, writer),
];

export const lossLowerings: LoweringTable<OpOf<"loss">> = {
  SoftmaxCrossEntropyLoss: inF32(crossEntropy),
  NegativeLogLikelihoodLoss: inF32(likelihood),
};
