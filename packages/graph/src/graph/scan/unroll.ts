import { type Rebuilding, rebuildGraph } from "../build/rebuild.js";
import type { Graph } from "../graph.js";
import { type GraphNode, isNode, type Value } from "../graph.js";

/**
 * Replaces scans by their steps, one after the other, for engines without loops and for reports on single steps. A
 * sequence that another scan stacked is read step by step, without being stacked.
 */
export function unrollScans(graph: Graph): Graph {
  if (!graph.nodes.some(({ op }) => op === "Scan")) return graph;
  const elements = new Map<Value, readonly Value[]>();
  return rebuildGraph(graph, (node, at) =>
    isNode(node, "Scan") ? unrollScan(node, at, elements) : undefined,
  );
}

function unrollScan(
  { inputs, attributes, origin }: GraphNode<"Scan">,
  at: Rebuilding,
  elements: Map<Value, readonly Value[]>,
): readonly Value[] {
  const { carries, sequences, length, reverse } = attributes;
  const { builder } = at;
  const body = unrollScans(attributes.body);
  const segment = origin.segment === undefined ? {} : { segment: origin.segment };
  const operands = at.counterparts(inputs);
  const invariants = operands.slice(carries + sequences);
  const sliced = operands
    .slice(carries, carries + sequences)
    .map((sequence) => splitElements(sequence, at, elements));
  const stacked = body.outputs.slice(carries).map(() => new Array<Value>(length));
  let carry: readonly Value[] = operands.slice(0, carries);
  for (let step = 0; step < length; step++) {
    const position = reverse ? length - 1 - step : step;
    const slices = sliced.map((all) => all[position] as Value);
    const results = builder.inline(body, [...carry, ...slices, ...invariants], (inner) => ({
      ...inner,
      ...segment,
    }));
    carry = results.slice(0, carries);
    stacked.forEach((all, index) => {
      all[position] = results[carries + index] as Value;
    });
  }
  const joined = stacked.map((all) => {
    const rows = all.map((value) => builder.emitOne("Unsqueeze", [value], { axes: [0] }));
    const whole = builder.emitOne("Concat", rows, { axis: 0 });
    elements.set(whole, all);
    return whole;
  });
  return [...carry, ...joined];
}

function splitElements(
  sequence: Value,
  { builder }: Rebuilding,
  elements: Map<Value, readonly Value[]>,
): readonly Value[] {
  const known = elements.get(sequence);
  if (known !== undefined) return known;
  const split = new Array<number>(sequence.shape[0] as number).fill(1);
  const rows = builder.emit("Split", [sequence], { axis: 0, split });
  const all = rows.map((row) => builder.emitOne("Squeeze", [row], { axes: [0] }));
  elements.set(sequence, all);
  return all;
}
