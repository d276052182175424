import { type AnyNode, type Graph, type GraphNode, producers, type Value } from "../graph.js";

/**
 * Removes unused parts of a scan: stacked results that nothing reads, carries that affect no result in use, and
 * operands that are then unused. Returns the node itself if every part is used.
 * @param clean drops the dead nodes of a body
 */
export function withoutDeadResults(
  node: GraphNode<"Scan">,
  read: ReadonlySet<Value>,
  clean: (body: Graph) => Graph,
): AnyNode {
  const { attributes, inputs, outputs } = node;
  const { carries, sequences, saved } = attributes;
  const { body } = attributes;
  const used = findUsedInputs(body, carries, (output) => read.has(outputs[output] as Value));
  const keepsOutput = (_: unknown, output: number): boolean =>
    output < carries ? used.has(output) : read.has(outputs[output] as Value);
  const keepsInput = (_: unknown, input: number): boolean => used.has(input);
  const lean = clean({
    ...body,
    inputs: body.inputs.filter(keepsInput),
    outputs: body.outputs.filter(keepsOutput),
  });
  const isWhole = lean.inputs.length === body.inputs.length && lean.outputs.length === body.outputs.length;
  if (isWhole && lean.nodes === body.nodes) return node as AnyNode;
  const counts = (from: number, to: number): number =>
    Array.from({ length: to - from }, (_, index) => from + index).filter((position) => used.has(position))
      .length;
  const firstSaved = outputs.length - saved;
  return {
    ...node,
    inputs: inputs.filter(keepsInput),
    outputs: outputs.filter(keepsOutput),
    attributes: {
      ...attributes,
      body: lean,
      carries: counts(0, carries),
      sequences: counts(carries, carries + sequences),
      saved: outputs.filter((output, position) => position >= firstSaved && keepsOutput(output, position))
        .length,
    },
  } as AnyNode;
}

/** Positions of the body's inputs that the used outputs depend on. A carry counts as used if a later step uses it. */
function findUsedInputs(
  body: Graph,
  carries: number,
  isRead: (output: number) => boolean,
): ReadonlySet<number> {
  const makers = producers(body);
  const positions = new Map(body.inputs.map(({ value }, position) => [value, position]));
  const used = new Set<number>();
  // Iterating over a set also visits elements that are added meanwhile.
  const reached = new Set(body.outputs.flatMap(({ value }, output) => (isRead(output) ? [value] : [])));
  for (const value of reached) {
    const position = positions.get(value);
    if (position !== undefined) used.add(position);
    if (position !== undefined && position < carries) {
      const next = body.outputs[position];
      if (next !== undefined) reached.add(next.value);
    }
    for (const input of makers.get(value)?.inputs ?? []) reached.add(input);
  }
  // A carry is used, too, if only its last value is read.
  for (let position = 0; position < carries; position++) if (isRead(position)) used.add(position);
  return used;
}
