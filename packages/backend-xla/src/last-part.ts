import { FAMILIES, type Graph } from "@mp/graph";

/** Operators that XLA computes in each kernel that reads their results. */
const CHEAP: ReadonlySet<string> = new Set([...FAMILIES.unary, ...FAMILIES.binary, "Expand", "Reshape"]);

/**
 * The part of a graph that computes outputs by cheap operators alone. Its inputs are values of the graph.
 * @param names of the outputs, in order
 */
export function lastPart({ nodes, outputs }: Graph, names: readonly string[]): Graph {
  const byName = new Map(outputs.map((output) => [output.name, output]));
  const own = names.flatMap((name) => byName.get(name) ?? []);
  const needed = new Set(own.map(({ value }) => value));
  const part = nodes.toReversed().filter(({ op, inputs, outputs: [result] }) => {
    const isPart = CHEAP.has(op) && result !== undefined && needed.delete(result);
    if (isPart) for (const input of inputs) needed.add(input);
    return isPart;
  });
  const inputs = Array.from(
    needed,
    (value, index) => ({ name: `${index}`, role: "capture", value }) as const,
  );
  return { inputs, nodes: part.toReversed(), outputs: own };
}
