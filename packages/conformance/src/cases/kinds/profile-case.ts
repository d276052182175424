import type { Graph } from "@mp/graph";
import { unsupportedReason } from "@mp/graph/backend";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectThat } from "../../expectations.js";
import { unsupportedGraph } from "../../support.js";
import { expectRefused } from "./graph-case.js";
import { withExecutable } from "./scripted-case.js";

/** A case about profiled runs of a graph. A backend whose manifest declares no profiler must not have `profile`. */
export function profileCase(id: string, graph: Graph, run: ConformanceCase["run"]): ConformanceCase {
  return {
    id,
    unsupported: (manifest) => unsupportedGraph(manifest, graph) ?? unsupportedReason(manifest.profile),
    refuses: async (backend) => {
      if (unsupportedGraph(backend.manifest, graph) !== undefined) return expectRefused(backend, graph);
      await withExecutable(backend, graph, async ({ profile }) =>
        expectThat(profile === undefined, "the manifest has no profiler, and executables have one"),
      );
    },
    run,
  };
}
