/** Finds losses that expect logits but get the result of a softmax or sigmoid. Such training is slow and ends worse. */
import { type AnyNode, consumers, type Graph, isNode, producers, type Value } from "@mp/graph";

type Producers = ReadonlyMap<Value, AnyNode>;

/**
 * Finds softmaxes and sigmoids that reach a loss of logits through casts and data movement only. The softmax of
 * attention does not match, because products follow it.
 */
export function findActivatedTwice(graph: Graph): readonly AnyNode[] {
  const made = producers(graph);
  const softmaxes = graph.nodes.flatMap((node) => {
    const axis = softmaxAxis(node);
    const [scores] = node.inputs;
    const source = axis === undefined || scores === undefined ? undefined : findSource(made, scores, axis);
    if (source === undefined || !isNode(source.node, "Softmax")) return [];
    return source.node.attributes.axis === source.axis ? [source.node as AnyNode] : [];
  });
  return [...new Set([...softmaxes, ...sigmoids(graph, made)])];
}

/** The axis along which a node turns scores into log-probabilities; undefined for other nodes. */
function softmaxAxis(node: AnyNode): number | undefined {
  if (isNode(node, "LogSoftmax")) return node.attributes.axis;
  return node.op === "SoftmaxCrossEntropyLoss" ? 1 : undefined;
}

interface Source {
  readonly node: AnyNode;
  readonly axis: number | undefined;
}

/**
 * Follows casts and data movement back to the node that computed a value, and a given `axis` with it.
 * Undefined if a reshape splits or merges the axis.
 */
function findSource(made: Producers, value: Value, axis?: number): Source | undefined {
  const node = made.get(value);
  const [input] = node?.inputs ?? [];
  if (node === undefined || input === undefined) return undefined;
  if (node.op === "Cast" || node.op === "Identity") return findSource(made, input, axis);
  if (isNode(node, "Transpose"))
    return findSource(made, input, axis === undefined ? axis : node.attributes.perm[axis]);
  if (node.op !== "Reshape" && node.op !== "Squeeze" && node.op !== "Unsqueeze") return { node, axis };
  if (axis === undefined) return findSource(made, input);
  const before = axisBefore(input.shape, value.shape, axis);
  return before === undefined ? undefined : findSource(made, input, before);
}

/** The input axis that a reshape keeps as `axis`: of equal size, with an equal product of the sizes after it. */
function axisBefore(before: readonly number[], after: readonly number[], axis: number): number | undefined {
  const size = (shape: readonly number[]): number => shape.reduce((product, each) => product * each, 1);
  const position = before.findIndex(
    (each, at) => each === after[axis] && size(before.slice(at + 1)) === size(after.slice(axis + 1)),
  );
  return position === -1 ? undefined : position;
}

/** Finds sigmoids whose result and its negative both go through a softplus, as in losses of logits. */
function sigmoids(graph: Graph, made: Producers): readonly AnyNode[] {
  const readers = consumers(graph);
  const read = (value: Value, op: AnyNode["op"]): readonly AnyNode[] =>
    (readers.get(value) ?? []).filter((reader) => reader.op === op);
  return graph.nodes.flatMap((node) => {
    const [scores] = node.inputs;
    if (node.op !== "Softplus" || scores === undefined) return [];
    const negative = read(scores, "Neg").flatMap(({ outputs }) => outputs);
    if (!negative.some((value) => read(value, "Softplus").length > 0)) return [];
    const source = findSource(made, scores);
    return source?.node.op === "Sigmoid" ? [source.node] : [];
  });
}
