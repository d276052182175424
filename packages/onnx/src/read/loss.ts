import type { LossReduction, OpOf } from "@mp/graph";
import type { ReaderTable, ReadNode } from "./node/node-reader.js";

const REDUCTIONS: readonly [LossReduction, ...LossReduction[]] = ["mean", "sum", "none"];

const likelihood =
  (op: OpOf<"loss">): ReadNode =>
  (reader) => {
    const reduction = reader.choice("reduction", REDUCTIONS, "reduces by");
    const weights = reader.optional(2);
    const operands = [reader.operand(0), reader.indices(1), ...(weights === undefined ? [] : [weights])];
    const ignored = reader.hasAttribute("ignore_index") ? { ignoreIndex: reader.int("ignore_index") } : {};
    return reader.emit(op, operands, { reduction, ...ignored });
  };

export const lossReaders: ReaderTable<OpOf<"loss">> = {
  SoftmaxCrossEntropyLoss: likelihood("SoftmaxCrossEntropyLoss"),
  NegativeLogLikelihoodLoss: likelihood("NegativeLogLikelihoodLoss"),
};
