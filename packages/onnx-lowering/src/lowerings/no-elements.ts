/**
 * Lowers nodes that have nothing to compute to constants, because all shapes are known. Some of the engine's kernels
 * divide by the number of elements or rows and crash (TopK); others refuse.
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

/** Ops whose operands must be checked all the same: an index out of range fails the run. */
const CHECKED: ReadonlySet<string> = new Set(FAMILIES.indexing.filter((op) => op !== "OneHot"));

/**
 * The loss of no scores; undefined for labels without classes, which are all invalid, so that a kernel refuses them.
 */
const lossOfNothing = ({
  inputs: [, labels],
  attributes: { reduction },
}: GraphNode<"SoftmaxCrossEntropyLoss" | "NegativeLogLikelihoodLoss">): number | undefined => {
  if (labels !== undefined && !isEmpty(labels)) return undefined;
  return reduction === "mean" ? Number.NaN : 0;
};

/** The sum or product of no elements; other reductions of nothing, such as a maximum, are refused. */
function reductionOfNothing({ op }: GraphNode<ReduceOp>): number {
  if (op === "ReduceProd") return 1;
  return op === "ReduceLogSum" || op === "ReduceLogSumExp" ? Number.NEGATIVE_INFINITY : 0;
}

/**
 * The number that fills the results if the first operand is empty but they are not: a mean of nothing is NaN, a sum
 * is 0. Undefined if there is something to compute. CUDA's reductions refuse empty axes.
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

/** @returns the names of constants with the node's results; undefined if there is something to compute */
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
