import { type AnyNode, type Graph, type GraphInput, type GraphNode, isNode, type Value } from "../graph.js";

/**
 * Moves computations that are the same in every step out of the bodies of scans, such as the cast or transpose of a
 * weight. All values of the graph keep their identity, so the result can replace the graph.
 */
export function hoistInvariants(graph: Graph): Graph {
  if (!graph.nodes.some(({ op }) => op === "Scan")) return graph;
  const fresh = freshValues(graph);
  return {
    ...graph,
    nodes: graph.nodes.flatMap((node) => (isNode(node, "Scan") ? hoistNodes(node, fresh) : [node])),
  };
}

/** Returns a function that makes new values of the graph, with unused ids. */
export function freshValues({ inputs, nodes }: Graph): (type: Pick<Value, "dtype" | "shape">) => Value {
  let last = -1;
  for (const { value } of inputs) last = Math.max(last, value.id);
  for (const node of nodes) for (const { id } of node.outputs) last = Math.max(last, id);
  return ({ dtype, shape }) => Object.freeze({ id: ++last, dtype, shape: Object.freeze([...shape]) });
}

function hoistNodes(scan: GraphNode<"Scan">, fresh: ReturnType<typeof freshValues>): readonly AnyNode[] {
  const { carries, sequences } = scan.attributes;
  const body = hoistInvariants(scan.attributes.body);
  /** Counterparts outside of the loop for body values that are the same in every step. */
  const outside = new Map<Value, Value>();
  body.inputs.slice(carries + sequences).forEach(({ value }, index) => {
    outside.set(value, scan.inputs[carries + sequences + index] as Value);
  });
  const constants = new Map<Value, AnyNode>();
  const moved = new Set<AnyNode>();
  const made: AnyNode[] = [];
  const moveOut = (node: AnyNode): void => {
    const outputs = node.outputs.map(fresh);
    const inputs = node.inputs.map((input) => outside.get(input) as Value);
    const { segment: _inner, ...rest } = node.origin;
    const { segment } = scan.origin;
    const origin = segment === undefined ? rest : { ...rest, segment };
    made.push({ ...node, name: `${scan.name}/${node.name}`, inputs, outputs, origin } as AnyNode);
    node.outputs.forEach((output, index) => {
      outside.set(output, outputs[index] as Value);
    });
  };
  for (const node of body.nodes) {
    if (node.op === "Constant") for (const output of node.outputs) constants.set(output, node);
    if (!isInvariant(node, outside, constants)) continue;
    for (const input of node.inputs) if (!outside.has(input)) moveOut(constants.get(input) as AnyNode);
    moveOut(node);
    moved.add(node);
  }
  if (moved.size === 0) return [{ ...scan, attributes: { ...scan.attributes, body } }];
  const nodes = body.nodes.filter((node) => !moved.has(node));
  const read = new Set([...nodes.flatMap(({ inputs }) => inputs), ...body.outputs.map(({ value }) => value)]);
  const entering = [...moved].flatMap(({ outputs }) => outputs.filter((output) => read.has(output)));
  const inputs: GraphInput[] = entering.map((value) => ({
    name: inputName(value, body),
    role: "capture",
    value,
  }));
  return [
    ...made,
    {
      ...scan,
      inputs: [...scan.inputs, ...entering.map((value) => outside.get(value) as Value)],
      attributes: { ...scan.attributes, body: { ...body, inputs: [...body.inputs, ...inputs], nodes } },
    },
  ];
}

/** Whether to move a node out of the loop. An Expand stays, since outside it would take memory and save no work. */
function isInvariant(
  node: AnyNode,
  outside: ReadonlyMap<Value, Value>,
  constants: ReadonlyMap<Value, AnyNode>,
): boolean {
  return (
    node.op !== "Expand" &&
    node.inputs.some((input) => outside.has(input) && !constants.has(input)) &&
    node.inputs.every((input) => outside.has(input) || constants.has(input))
  );
}

function inputName({ id }: Value, { inputs }: Graph): string {
  let name = `outside/${id}`;
  while (inputs.some((input) => input.name === name)) name += "'";
  return name;
}
