/**
 * Replaces nodes that have nothing to compute by constants of the known shapes. Without elements or rows, some of the
 * engine's kernels divide by 0 and crash (TopK), and others refuse the node.
 */
import {
  type AnyNode,
  FAMILIES,
  full,
  type GraphNode,
  type Op,
  REDUCE_OPS,
  type ReduceOp,
  rowsOf,
  type ValueType,
  zeros,
} from "@mp/graph";
import type { NodeWriter } from "@mp/onnx/write";

const isEmpty = ({ shape }: ValueType): boolean => shape.includes(0);

/** Ops that run even if there is nothing to compute, because an index out of range must fail the run. */
const CHECKED: ReadonlySet<string> = new Set(FAMILIES.indexing.filter((op) => op !== "OneHot"));

/**
 * The loss without scores; undefined if there are labels but no classes, so that a kernel refuses the labels.
 */
const lossOfNothing = ({
  inputs: [, labels],
  attributes: { reduction },
}: GraphNode<"SoftmaxCrossEntropyLoss" | "NegativeLogLikelihoodLoss">): number | undefined => {
  if (labels !== undefined && !isEmpty(labels)) return undefined;
  return reduction === "mean" ? Number.NaN : 0;
};

/** The result of reducing no elements. Reductions that have no such result, such as maxima, are refused before. */
function reductionOfNothing({ op }: GraphNode<ReduceOp>): number {
  if (op === "ReduceProd") return 1;
  return op === "ReduceLogSum" || op === "ReduceLogSumExp" ? Number.NEGATIVE_INFINITY : 0;
}

/**
 * The fill value of the results, by op, if the first operand is empty but the results are not: NaN for a mean
 * over nothing, 0 for a sum. Undefined if there is something to compute. CUDA's reductions refuse empty axes.
 */
const numberOfNothing: { readonly [K in Op]?: (node: GraphNode<K>) => number | undefined } = {
  LayerNormalization: () => Number.NaN,
  BatchNormalization: () => Number.NaN,
  SoftmaxCrossEntropyLoss: lossOfNothing,
  NegativeLogLikelihoodLoss: lossOfNothing,
  ConvWeightGradient: () => 0,
  MatMul: () => 0,
  ...rowsOf(REDUCE_OPS, () => reductionOfNothing),
};

/** @returns the names of constants for a node with nothing to compute; undefined for any other node */
export function lowerWithoutElements(
  node: AnyNode,
  writer: NodeWriter,
  checked: ReadonlySet<string> = CHECKED,
): readonly string[] | undefined {
  const { op, inputs, outputs } = node;
  if (op === "Constant" || op === "Barrier" || checked.has(op)) return undefined;
  if (outputs.every(isEmpty)) {
    return outputs.map(({ shape, dtype }) => writer.initializer(zeros(shape, dtype)));
  }
  const [first] = inputs;
  if (first === undefined || !isEmpty(first)) return undefined;
  const number = (numberOfNothing[op] as ((node: AnyNode) => number | undefined) | undefined)?.(node);
  if (number === undefined) return undefined;
  return outputs.map(({ shape, dtype }) => writer.initializer(full(shape, number, dtype)));
}
