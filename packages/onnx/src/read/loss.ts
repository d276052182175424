import type { LossReduction, OpOf } from "@mp/core/graph";
import { quote } from "../problem.js";
import type { ReaderTable, ReadNode } from "./node/node-reader.js";

const REDUCTIONS: readonly LossReduction[] = ["mean", "sum", "none"];

function likelihood(op: OpOf<"loss">): ReadNode {
  return (reader) => {
    const name = reader.string("reduction", "mean");
    const reduction = REDUCTIONS.find((known) => known === name);
    if (reduction === undefined) return reader.unsupported(`reduces by ${quote(name)}`);
    const weights = reader.optional(2);
    return reader.emit(
      op,
      [reader.operand(0), reader.indices(1), ...(weights === undefined ? [] : [weights])],
      {
        reduction,
        ...(reader.hasAttribute("ignore_index") ? { ignoreIndex: reader.int("ignore_index") } : {}),
      },
    );
  };
}

export const lossReaders: ReaderTable<OpOf<"loss">> = {
  SoftmaxCrossEntropyLoss: likelihood("SoftmaxCrossEntropyLoss"),
  NegativeLogLikelihoodLoss: likelihood("NegativeLogLikelihoodLoss"),
};
