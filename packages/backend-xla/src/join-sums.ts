import {
  type AnyNode,
  consumers,
  elementCount,
  full,
  type Graph,
  GraphBuilder,
  isNode,
  producers,
  type Value,
} from "@mp/graph";
import { GraphCopy } from "@mp/graph/internal";

/**
 * A scalar sum in which some terms are themselves sums over all elements (or their squares) of a tensor, such
 * as the norm of all gradients or the finite check.
 */
interface SumOfSums {
  /** The Add node that computes the sum. */
  readonly root: AnyNode;
  /** The tensors whose elements are all added. */
  readonly tensors: readonly Summed[];
  /** Terms that are not the sum of a tensor. */
  readonly numbers: readonly Value[];
  /** Nodes that the joined sum makes unnecessary. */
  readonly replaced: readonly AnyNode[];
}

interface Summed {
  readonly value: Value;
  /** The factor of each element in the sum: 1, 0 or the element itself. */
  readonly factor: "one" | "zero" | "itself";
}

/** The fewest tensors that are worth joining. */
const FEWEST = 2;

/**
 * Sums the elements of many tensors together. XLA computes the sum of each tensor in two kernels, the second
 * for a single value, so a norm of all gradients takes a small kernel for each parameter. Here each tensor is
 * summed over all axes but the first; the results are joined to a vector and then summed. A row of zeros
 * times a matrix counts as a sum, too; core uses such products to find infinities and NaN.
 */
export function joinSums(graph: Graph): Graph {
  const sums = findSums(graph);
  if (sums.length === 0) return graph;
  const byRoot = new Map(sums.map((sum) => [sum.root, sum]));
  const gone = new Set(sums.flatMap(({ replaced }) => replaced));
  const copy = new GraphCopy(graph, new GraphBuilder());
  copy.copyInputs();
  for (const node of graph.nodes) {
    const sum = byRoot.get(node);
    if (sum !== undefined) copy.replace(node, [emitSum(copy, sum)]);
    else if (!gone.has(node)) copy.copy(node);
  }
  return copy.finish();
}

function findSums(graph: Graph): readonly SumOfSums[] {
  const makers = producers(graph);
  const readers = consumers(graph);
  const returned = new Set(graph.outputs.map(({ value }) => value));
  /** Returns the node that computes a value, if the value is read exactly once and is not an output. */
  const onlyMaker = (value: Value | undefined): AnyNode | undefined => {
    const [reader, second] = (value && readers.get(value)) ?? [];
    if (value === undefined || reader === undefined || second !== undefined || returned.has(value))
      return undefined;
    return reader.inputs.filter((input) => input === value).length === 1 ? makers.get(value) : undefined;
  };
  const inner = new Set<AnyNode>();
  return graph.nodes.toReversed().flatMap((root) => {
    if (!isScalarAdd(root) || inner.has(root)) return [];
    const [tensors, numbers, replaced]: [Summed[], Value[], AnyNode[]] = [[], [], []];
    const stack = root.inputs.toReversed();
    for (let value = stack.pop(); value !== undefined; value = stack.pop()) {
      const maker = onlyMaker(value);
      const summed = maker === undefined ? undefined : summedBy(maker);
      if (maker !== undefined && isScalarAdd(maker)) {
        inner.add(maker);
        replaced.push(maker);
        stack.push(...maker.inputs.toReversed());
      } else if (maker !== undefined && summed !== undefined) {
        const row = summed.factor === "one" ? onlyMaker(summed.value) : undefined;
        const matrix = row === undefined ? undefined : zeroedBy(row, makers);
        tensors.push(matrix === undefined ? summed : { value: matrix, factor: "zero" });
        replaced.push(maker, ...(row === undefined || matrix === undefined ? [] : [row]));
      } else numbers.push(value);
    }
    return tensors.length < FEWEST ? [] : [{ root, tensors, numbers, replaced }];
  });
}

const isNumber = ({ dtype, shape }: Value): boolean => dtype === "f32" && shape.length === 0;

const isScalarAdd = (node: AnyNode): boolean => isNode(node, "Add") && node.outputs.every(isNumber);

/** Returns the tensor whose elements, or their squares, a node sums to a scalar; else undefined. */
function summedBy(node: AnyNode): Summed | undefined {
  const [value] = node.inputs;
  if (value === undefined || !node.outputs.every(isNumber)) return undefined;
  if (isNode(node, "ReduceSum")) return { value, factor: "one" };
  return isNode(node, "ReduceSumSquare") ? { value, factor: "itself" } : undefined;
}

/** Returns the matrix that a node multiplies by a row of zeros; else undefined. */
function zeroedBy(node: AnyNode, makers: ReadonlyMap<Value, AnyNode>): Value | undefined {
  const [row, matrix] = node.inputs;
  if (!isNode(node, "MatMul") || row === undefined || matrix === undefined || matrix.shape.length !== 2)
    return undefined;
  const maker = makers.get(row);
  if (maker === undefined || !isNode(maker, "Constant")) return undefined;
  const isZero = (maker.attributes.value.data as Float32Array).every((element) => element === 0);
  return isZero && row.shape.length === 2 && row.shape[0] === 1 ? matrix : undefined;
}

function emitSum(copy: GraphCopy<GraphBuilder>, { root, tensors, numbers }: SumOfSums): Value {
  const { builder } = copy;
  const origin = copy.origin(root);
  const emit: typeof builder.emitOne = (op, inputs, attributes) =>
    builder.emitOne(op, inputs, attributes, origin);
  const parts = tensors.map(({ value, factor }) => {
    const tensor = copy.counterpart(value);
    const by = factor === "zero" ? emit("Constant", [], { value: full([], 0) }) : tensor;
    const terms = factor === "one" ? tensor : emit("Mul", [tensor, by], {});
    const { shape } = terms;
    const axes = shape.map((_, axis) => axis).slice(1);
    const rows = axes.length === 0 ? terms : emit("ReduceSum", [terms], { axes, keepdims: false });
    return emit("Reshape", [rows], { shape: [elementCount(rows.shape, "joinSums")] });
  });
  // Without the barrier, XLA would split the sum of a concatenation into many sums again.
  const joined = emit("Barrier", [emit("Concat", parts, { axis: 0 })], {});
  const sum = emit("ReduceSum", [joined], { axes: [0], keepdims: false });
  return numbers.reduce((total, value) => emit("Add", [total, copy.counterpart(value)], {}), sum);
}
