import {
  type Backend,
  type BackendManifest,
  type Executable,
  type Graph,
  type HostTensor,
  MpError,
} from "@mp/graph";
import { EXACT } from "../../compare/allowance.js";
import { compareTensors } from "../../compare/compare-tensors.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectCode, expectThat } from "../../expectations.js";
import { unsupportedGraph } from "../../support.js";
import { expectRefused } from "./graph-case.js";

/**
 * A case that drives a backend step by step, if the backend can run the graphs. A function makes the graphs for the
 * backend's manifest when they are first needed.
 * @throws MP_UNSUPPORTED, by that function, if the manifest lacks what the graphs need
 */
export function scriptedCase(
  id: string,
  graphs: Graph | readonly Graph[] | ((manifest: BackendManifest) => Graph | readonly Graph[]),
  run: ConformanceCase["run"],
): ConformanceCase {
  const makeGraphs = (manifest: BackendManifest): readonly Graph[] =>
    [typeof graphs === "function" ? graphs(manifest) : graphs].flat();
  return {
    id,
    unsupported: (manifest) => {
      try {
        return makeGraphs(manifest)
          .map((graph) => unsupportedGraph(manifest, graph))
          .find((reason) => reason);
      } catch (error) {
        if (MpError.is(error, "MP_UNSUPPORTED")) return error.message;
        throw error;
      }
    },
    refuses: async (backend) => {
      const { manifest } = backend;
      let refused: readonly Graph[] = [];
      try {
        refused = makeGraphs(manifest).filter((graph) => unsupportedGraph(manifest, graph) !== undefined);
      } catch (error) {
        await expectCode("MP_UNSUPPORTED", "tracing what the manifest lacks", () => Promise.reject(error));
      }
      for (const graph of refused.slice(0, 1)) await expectRefused(backend, graph);
    },
    run,
  };
}

/** Compiles an executable, passes it to `body`, and disposes of it. */
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

/** Checks that two tensors have the same bits, except that any NaN equals any other. */
export function expectSame(got: HostTensor | undefined, want: HostTensor, what: string): void {
  const mismatch = compareTensors(got, want, EXACT);
  expectThat(mismatch === undefined, `${what} ${mismatch}`);
}
