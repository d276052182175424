import type { Backend, Executable, Graph, HostTensor } from "@mp/graph";
import { EXACT } from "../../compare/allowance.js";
import { compareTensors } from "../../compare/compare-tensors.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectThat } from "../../expectations.js";
import { unsupportedGraph } from "../../support.js";
import { expectRefused } from "./graph-case.js";

/** A case that drives the backend step by step, for backends that can run these graphs. */
export function scriptedCase(
  id: string,
  graphs: Graph | readonly Graph[],
  run: ConformanceCase["run"],
): ConformanceCase {
  const needed = "nodes" in graphs ? [graphs] : graphs;
  return {
    id,
    unsupported: (manifest) =>
      needed.map((graph) => unsupportedGraph(manifest, graph)).find((reason) => reason),
    refuses: async (backend) => {
      const graph = needed.find((candidate) => unsupportedGraph(backend.manifest, candidate) !== undefined);
      if (graph !== undefined) await expectRefused(backend, graph);
    },
    run,
  };
}

/** Runs `body` with an executable and disposes it. */
export async function withExecutable<R>(
  backend: Backend,
  graph: Graph,
  body: (executable: Executable) => Promise<R>,
  options: Parameters<Backend["compile"]>[1] = {},
): Promise<R> {
  const executable = await backend.compile(graph, options);
  try {
    return await body(executable);
  } finally {
    await executable.dispose();
  }
}

/** The same values with the same bits, except that any NaN equals any other. */
export function expectSame(got: HostTensor | undefined, want: HostTensor, what: string): void {
  const mismatch = compareTensors(got, want, EXACT);
  expectThat(mismatch === undefined, `${what} ${mismatch}`);
}
