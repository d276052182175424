import type { AnyNode, Graph, HostTensor } from "@mp/graph";
import { resolveBindings } from "@mp/graph/internal";
import type { TfjsBinding } from "../load/index.js";
import { SessionProgram } from "../session/session-program.js";
import { upload } from "../session/upload.js";

type Tensors = Readonly<Record<string, HostTensor>>;

/** Loads a graph without state, runs it once and returns its outputs. */
export async function runGraph(
  binding: TfjsBinding,
  graph: Graph,
  inputs: Tensors,
  isWidened: (node: AnyNode) => boolean,
): Promise<Tensors> {
  const place = { bound: resolveBindings(graph, undefined, {}), state: undefined, isConstant: false };
  const program = new SessionProgram(graph, place, { binding, isWidened });
  const fed = Object.entries(inputs).map(([name, value]) => [name, upload(binding, value)] as const);
  try {
    const results = Object.entries(await program.run(Object.fromEntries(fed)));
    const read = results.map(([name, result]) => [name, result.read()] as const);
    for (const [, { wire }] of results) wire?.release();
    return Object.fromEntries(read);
  } finally {
    for (const [, { wire }] of fed) wire?.release();
    program.dispose(false);
  }
}
