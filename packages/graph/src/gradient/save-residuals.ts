import { isFloat } from "../dtype.js";
import { type AnyNode, consumers, type Graph, type GraphNode, isNode, type Value } from "../graph/graph.js";
import { freshValues } from "../graph/scan/hoist-invariants.js";
import { emitGradient } from "./gradient.js";
import { activeValues } from "./gradient-cuts.js";
import { backwardBody } from "./rules/backward-body.js";

/**
 * Makes scans also stack the values that their gradients with respect to `wrt` will read. All values of the graph keep
 * their identity, so the result can replace the graph; a graph without such scans is returned unchanged.
 * @param saved number of the graph's last outputs that only a gradient reads
 */
export function saveResiduals(graph: Graph, wrt: Iterable<Value>, saved = 0): Graph {
  if (!graph.nodes.some(({ op }) => op === "Scan")) return graph;
  const active = activeValues(graph, wrt);
  const results = graph.outputs.slice(0, graph.outputs.length - saved).map(({ value }) => value);
  const read = new Set([...consumers(graph).keys(), ...results]);
  const fresh = freshValues(graph);
  const nodes = graph.nodes.map((node): AnyNode => {
    if (!isNode(node, "Scan") || !node.inputs.some((input) => active.has(input))) return node;
    const extended = withResiduals(node, active, read);
    const { body, length } = extended;
    const added = body.outputs
      .slice(node.outputs.length)
      .map(({ value: { dtype, shape } }) => fresh({ dtype, shape: [length, ...shape] }));
    return { ...(node as GraphNode<"Scan">), outputs: [...node.outputs, ...added], attributes: extended };
  });
  return { ...graph, nodes };
}

function withResiduals(
  node: GraphNode<"Scan">,
  active: ReadonlySet<Value>,
  read: ReadonlySet<Value>,
): GraphNode<"Scan">["attributes"] {
  const { attributes } = node;
  const { carries } = attributes;
  const floats = attributes.body.inputs.map(({ value }) => value).filter(({ dtype }) => isFloat(dtype));
  // Residuals of one gradient are ordinary results for the gradient of that gradient.
  const isSaved =
    attributes.saved > 0 && !node.outputs.slice(-attributes.saved).some((output) => read.has(output));
  const saved = isSaved ? attributes.saved : 0;
  const scan = { ...attributes, saved, body: saveResiduals(attributes.body, floats, saved) };
  const { residuals } = backwardBody(
    scan,
    {
      receives: () => true,
      needs: (input) => active.has(node.inputs[input] as Value),
    },
    emitGradient,
  );
  const { body } = scan;
  const known = new Set(body.outputs.slice(carries).map(({ value }) => value));
  const added = residuals.filter((value) => !known.has(value));
  const names = new Set(body.outputs.map(({ name }) => name));
  const outputs = added.map((value) => {
    let count = names.size;
    while (names.has(`saved/${count}`)) count++;
    names.add(`saved/${count}`);
    return { name: `saved/${count}`, value };
  });
  return {
    ...scan,
    saved: saved + added.length,
    body: { ...body, outputs: [...body.outputs, ...outputs] },
  };
}
