/**
 * Nodes that have nothing to compute. Some of the engine's kernels divide by the number of elements or rows and end the
 * process (TopK); others refuse. All shapes are known here, so such nodes need no kernel.
 */
import { type HostTensor, zeros } from "@mp/core";
import { type AnyNode, GraphBuilder, type GraphNode, type Op, type ValueType } from "@mp/core/graph";
import { evaluate } from "@mp/core/reference";
import type { NodeWriter } from "@mp/onnx/write";

const isEmpty = ({ shape }: ValueType): boolean => shape.includes(0);

/** Their operands must be checked all the same: an index outside its axis fails the run. */
const CHECKED: ReadonlySet<Op> = new Set<Op>([
  "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND",
]); // biome-ignore format: one list

/** Results that do not depend on the other operands when the first one is empty. */
const DECIDED_BY_FIRST: ReadonlySet<Op> = new Set<Op>([
  "LayerNormalization", "BatchNormalization", "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss",
  "ConvWeightGradient", "MatMul",
]); // biome-ignore format: one list

/**
 * Those for which this holds only if there are no labels either: with labels and no classes, every label is invalid.
 */
const UNLESS_LABELLED: ReadonlySet<Op> = new Set<Op>([
  "SoftmaxCrossEntropyLoss",
  "NegativeLogLikelihoodLoss",
]);

const zerosOf = ({ dtype, shape }: ValueType): HostTensor => zeros(shape, dtype);

/** The oracle's result for the node when all its operands are zeros. */
function evaluatedOnZeros({ op, inputs, outputs, attributes }: GraphNode): readonly HostTensor[] {
  const builder = new GraphBuilder();
  const operands = inputs.map((input) => builder.constant(zerosOf(input)));
  const values = builder.emit(op, operands, attributes);
  const results = evaluate(builder.finish(new Map(values.map((value, index) => [String(index), value]))), {});
  return outputs.map((_, index) => results[String(index)] as HostTensor);
}

/** @returns the names of constants that are the node's results; undefined where there is something to compute */
export function withoutElements(node: AnyNode, writer: NodeWriter): readonly string[] | undefined {
  const { op, inputs, outputs } = node;
  if (op === "Constant" || op === "Barrier" || CHECKED.has(op)) return undefined;
  if (outputs.every(isEmpty)) return outputs.map((output) => writer.initializer(zerosOf(output)));
  const [first, second] = inputs;
  if (first === undefined || !isEmpty(first) || !DECIDED_BY_FIRST.has(op)) return undefined;
  if (UNLESS_LABELLED.has(op) && second !== undefined && !isEmpty(second)) return undefined;
  return evaluatedOnZeros(node as GraphNode).map((result) => writer.initializer(result));
}
