import { FAMILIES, type Graph } from "@mp/graph";

/** Operators so cheap that XLA computes them again in each kernel that reads their results. */
const CHEAP: ReadonlySet<string> = new Set([...FAMILIES.unary, ...FAMILIES.binary, "Expand", "Reshape"]);

/** Returns the cheap operators before the named outputs as a graph; its inputs are values of `graph`. */
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
