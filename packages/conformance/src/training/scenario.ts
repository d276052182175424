/**
 * Training cases: a scenario runs on the backend under test and on the oracle, and a check compares the two
 * transcripts. The oracle refuses the graphs that the backend's manifest calls unsupported, as the backend must.
 */
import { type Backend, type BackendManifest, MpError } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import type { CaseContext, ConformanceCase } from "../conformance-case.js";
import { delegate } from "../delegate.js";
import { expectCode } from "../expectations.js";
import { unsupportedGraph } from "../support.js";

/** Tools of a scenario besides the backend: `create` makes another backend. */
export type ScenarioTools = Pick<CaseContext, "create">;

export type Scenario<R> = (backend: Backend, tools: ScenarioTools) => Promise<R>;

/** Throws unless `got` is right; `want` is the oracle's result. */
export type TranscriptCheck<R> = (got: R, want: R, manifest: BackendManifest) => void;

type Played<R> = { readonly result: R } | { readonly refusal: string };

/** Runs the scenario on the oracle with the manifest of the tested backend, so that tracing makes the same decisions. */
async function playOnOracle<R>(scenario: Scenario<R>, manifest: BackendManifest): Promise<Played<R>> {
  const made: Backend[] = [];
  const create = async (): Promise<Backend> => {
    const oracle = await reference();
    const compile: Backend["compile"] = async (graph, options) => {
      const reason = unsupportedGraph(manifest, graph);
      if (reason !== undefined) throw new MpError("MP_UNSUPPORTED", reason);
      return oracle.compile(graph, options);
    };
    made.push(oracle);
    return delegate(oracle, { manifest, compile });
  };
  try {
    return { result: await scenario(await create(), { create }) };
  } catch (error) {
    if (MpError.is(error, "MP_UNSUPPORTED")) return { refusal: error.message };
    throw error;
  } finally {
    for (const backend of made) await backend.dispose();
  }
}

/** A case from a scenario, which the oracle runs once for each manifest. */
export function scenarioCase<R>(
  id: string,
  scenario: Scenario<R>,
  check: TranscriptCheck<R>,
): ConformanceCase {
  const played = new Map<string, Promise<Played<R>>>();
  const oracle = (manifest: BackendManifest): Promise<Played<R>> => {
    const key = JSON.stringify(manifest);
    const known = played.get(key) ?? playOnOracle(scenario, manifest);
    played.set(key, known);
    return known;
  };
  return {
    id,
    unsupported: async (manifest) => {
      const run = await oracle(manifest);
      return "refusal" in run ? run.refusal : undefined;
    },
    refuses: async (backend, { create }) => {
      await expectCode("MP_UNSUPPORTED", "training that the manifest calls unsupported", () =>
        scenario(backend, { create }),
      );
    },
    run: async (backend, { create }) => {
      const want = await oracle(backend.manifest);
      const got = await scenario(backend, { create });
      if ("refusal" in want) throw new Error(`internal: the oracle refuses ${id}`);
      check(got, want.result, backend.manifest);
    },
  };
}
