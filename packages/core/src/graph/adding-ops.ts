import type { Op } from "./attributes.js";
import { PRODUCT_OPS } from "./families.js";
import { type AnyNode, isNode } from "./graph.js";

const BESIDE_PRODUCTS = [
  "Attention",
  "ReduceSum",
  "ReduceMean",
  "ReduceProd",
  "ReduceL1",
  "ReduceL2",
  "ReduceSumSquare",
  "ReduceLogSum",
  "ReduceLogSumExp",
  "CumSum",
  "AveragePool",
  "MaxPoolGradient",
  "ScatterElements",
  "ScatterND",
  "Softmax",
  "LogSoftmax",
  "SoftmaxCrossEntropyLoss",
  "NegativeLogLikelihoodLoss",
  "LayerNormalization",
  "RMSNormalization",
  "BatchNormalization",
  "BatchNormalizationGradient",
] as const;

export type AddingOp = (typeof PRODUCT_OPS)[number] | (typeof BESIDE_PRODUCTS)[number];

/**
 * Operators that accumulate sums or products of many terms: by definition in f32 and rounded once, for any operand
 * dtype.
 */
export const ADDING_OPS: readonly AddingOp[] = [...PRODUCT_OPS, ...BESIDE_PRODUCTS];

const adding: ReadonlySet<Op> = new Set(ADDING_OPS);

/** Whether the node accumulates many terms; a scatter that only replaces does not. */
export function addsUp(node: AnyNode): boolean {
  if (isNode(node, "ScatterElements") || isNode(node, "ScatterND"))
    return node.attributes.reduction === "add" || node.attributes.reduction === "mul";
  return adding.has(node.op);
}
