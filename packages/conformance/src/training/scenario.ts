/**
 * Training cases: a scenario is played on the backend under test and on the oracle, and a check holds the two
 * transcripts together. What the scenario needs is known from the graphs that the oracle was given.
 */
import { type Backend, type BackendManifest, type Graph, MpError } from "@mp/core";
import { reference } from "@mp/core/reference";
import type { CaseContext, ConformanceCase } from "../conformance-case.js";
import { expectCode } from "../expectations.js";
import { unsupportedGraph } from "../support.js";
import { delegate, observingGraphs } from "./delegate.js";

/** What a scenario may use beside the backend: one more of its kind. */
export type ScenarioTools = Pick<CaseContext, "create">;

export type Scenario<R> = (backend: Backend, tools: ScenarioTools) => Promise<R>;

/** Throws unless `got` is right; `want` is the oracle's. */
export type TranscriptCheck<R> = (got: R, want: R, manifest: BackendManifest) => void;

type Played<R> =
  | { readonly result: R; readonly graphs: readonly Graph[] }
  | { readonly refusal: string; readonly graphs: readonly Graph[] };

/** The oracle plays under the other's manifest, so that what is decided while tracing is decided alike. */
async function playOnOracle<R>(scenario: Scenario<R>, manifest: BackendManifest): Promise<Played<R>> {
  const made: Backend[] = [];
  const graphs: Graph[] = [];
  const create = async (): Promise<Backend> => {
    const backend = delegate(await reference(), { manifest });
    made.push(backend);
    return observingGraphs(backend, graphs);
  };
  try {
    return { result: await scenario(await create(), { create }), graphs };
  } catch (error) {
    if (MpError.is(error, "MP_UNSUPPORTED")) return { refusal: error.message, graphs };
    throw error;
  } finally {
    for (const backend of made) await backend.dispose();
  }
}

/** A case from a scenario. The oracle plays it once for each manifest. */
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
      if ("refusal" in run) return run.refusal;
      return run.graphs
        .map((graph) => unsupportedGraph(manifest, graph))
        .find((reason) => reason !== undefined);
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
