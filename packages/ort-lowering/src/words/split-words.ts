import { MpError } from "@mp/core";
import { type AnyNode, type Graph, GraphBuilder, type GraphNode, type Op, type Value } from "@mp/core/graph";
import { elementwiseRules } from "./elementwise.js";
import { movementRules } from "./movement.js";
import { isWide, packed, packedType, unpacked } from "./packed.js";
import { reduceRules } from "./reduce.js";
import { type Carrier, isWords, type WordRule, type WordRules } from "./rule.js";
import { sourceRules } from "./source.js";
import { WordBuilder } from "./words.js";

/** A loop moves packed words and computes nothing. */
const loop: WordRule<"Scan"> = (node, operands, words) => {
  const values = operands.map((operand) =>
    isWords(operand) ? packed(words.halves(operand), words) : operand,
  );
  const { attributes, name, origin } = node;
  const body = splitWords(attributes.body);
  const results = words.emit("Scan", values, { ...attributes, body }, origin, name);
  return node.outputs.map((output, index) => {
    const result = results[index] as Value;
    return isWide(output) ? unpacked(result, words) : result;
  });
};

const rules: WordRules = {
  ...elementwiseRules,
  ...movementRules,
  ...reduceRules,
  ...sourceRules,
  Scan: loop,
};

const holdsWide = ({ inputs, outputs, attributes }: GraphNode): boolean =>
  [...inputs, ...outputs].some(isWide) || ("body" in attributes && graphHoldsWide(attributes.body as Graph));

const graphHoldsWide = ({ inputs, nodes }: Graph): boolean =>
  inputs.some(({ value }) => isWide(value)) || nodes.some((node) => holdsWide(node as GraphNode));

/**
 * Rewrites a graph for a device without 64-bit integers: each value of i64 or u64 becomes two words, the bits of its
 * halves as i32, with the same bits as results. Inputs and outputs of these dtypes become i32 of shape […, 2], the same
 * bytes in little-endian order. Of 64-bit nodes only `RandomBits`, the sum of words that gives its counter, and division
 * and casts of its results are left, for `wordLowerings`. A graph without 64-bit values is returned unchanged.
 * @param onNode called with the name of each node of the new graph, bodies of loops apart, and the node that it is part of
 * @throws MP_UNSUPPORTED for an operator that is not computed in words
 */
export function splitWords(graph: Graph, onNode?: (made: string, source: AnyNode) => void): Graph {
  if (!graphHoldsWide(graph)) return graph;
  const builder = new GraphBuilder();
  const words = new WordBuilder(builder);
  const carriers = new Map<Value, Carrier>();
  for (const { name, role, value } of graph.inputs)
    carriers.set(value, builder.input(name, packedType(value), role));
  for (const { value } of graph.inputs)
    if (isWide(value)) carriers.set(value, unpacked(carriers.get(value) as Value, words));
  for (const node of graph.nodes) {
    const from = builder.nodes.length;
    words.at(node.origin);
    const results = rewritten(
      node,
      node.inputs.map((value) => carriers.get(value) as Carrier),
      words,
    );
    for (const [index, value] of node.outputs.entries()) carriers.set(value, results[index] as Carrier);
    if (onNode === undefined) continue;
    for (const { name } of builder.nodes.slice(from)) onNode(name, node);
  }
  const outputs = graph.outputs.map(({ name, value }): readonly [string, Value] => {
    const carrier = carriers.get(value) as Carrier;
    return [name, isWords(carrier) ? packed(words.halves(carrier), words) : carrier];
  });
  const unread = unreadOf(graph).flatMap((value): readonly Value[] => {
    const carrier = carriers.get(value) as Carrier;
    if (!isWords(carrier)) return [carrier];
    const { low, high } = words.halves(carrier);
    return [low, high];
  });
  return withoutUnread(builder.finish(new Map(outputs)), unread);
}

/**
 * Values that no node reads and that are no outputs. A probe has such nodes, and asks whether the engine computes them.
 */
function unreadOf({ nodes, outputs }: Graph): readonly Value[] {
  const read = new Set([...nodes.flatMap(({ inputs }) => inputs), ...outputs.map(({ value }) => value)]);
  return nodes.flatMap(({ outputs }) => (outputs.some((value) => read.has(value)) ? [] : outputs));
}

function rewritten(node: AnyNode, operands: readonly Carrier[], words: WordBuilder): readonly Carrier[] {
  if (!holdsWide(node as GraphNode))
    return words.emit(node.op as Op, operands as readonly Value[], node.attributes, node.origin, node.name);
  const rule = rules[node.op] as WordRule | undefined;
  if (rule !== undefined) return rule(node as GraphNode, operands, words);
  throw new MpError(
    "MP_UNSUPPORTED",
    `${node.op} of 64-bit integers: this device has 32-bit integers only, cast them to i32`,
    { details: { op: node.op, node: node.name } },
  );
}

/**
 * The graph without nodes that nothing reads, apart from those that make the values `wanted`: rules make both words of a
 * value, and often only one is needed.
 */
function withoutUnread(graph: Graph, wanted: readonly Value[]): Graph {
  const read = new Set([...wanted, ...graph.outputs.map(({ value }) => value)]);
  const kept: AnyNode[] = [];
  for (const node of graph.nodes.toReversed()) {
    if (!node.outputs.some((value) => read.has(value))) continue;
    kept.push(node);
    for (const value of node.inputs) read.add(value);
  }
  return { ...graph, nodes: kept.toReversed() };
}
