import { FAMILIES, type Graph } from "@mp/graph";

/** Operators that XLA computes in each kernel that reads their results. */
const CHEAP: ReadonlySet<string> = new Set([...FAMILIES.unary, ...FAMILIES.binary, "Expand", "Reshape"]);

/** The part of a graph that computes the named outputs by cheap operators alone. Its inputs are values of the graph. */
export function lastPart(graph: Graph, names: ReadonlySet<string>): Graph {
  const outputs = graph.outputs.filter(({ name }) => names.has(name));
  const needed = new Set(outputs.map(({ value }) => value));
  const nodes = graph.nodes.toReversed().filter(({ op, inputs, outputs: [result] }) => {
    const isPart = CHEAP.has(op) && result !== undefined && needed.delete(result);
    if (isPart) for (const input of inputs) needed.add(input);
    return isPart;
  });
  const inputs = Array.from(
    needed,
    (value, index) => ({ name: `${index}`, role: "capture", value }) as const,
  );
  return { inputs, nodes: nodes.toReversed(), outputs };
}
