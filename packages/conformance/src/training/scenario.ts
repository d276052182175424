/**
 * Training cases: a scenario runs on the backend under test and on the oracle, and a check compares the two
 * transcripts. What the scenario needs is known from the graphs that the oracle compiled.
 */
import { type Backend, type BackendManifest, type Graph, MpError } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import type { CaseContext, ConformanceCase } from "../conformance-case.js";
import { delegate, observingGraphs } from "../delegate.js";
import { expectCode } from "../expectations.js";
import { unsupportedGraph } from "../support.js";

/** Tools of a scenario besides the backend: a function that creates another one. */
export type ScenarioTools = Pick<CaseContext, "create">;

export type Scenario<R> = (backend: Backend, tools: ScenarioTools) => Promise<R>;

/** Throws unless `got` is right; `want` is the oracle's. */
export type TranscriptCheck<R> = (got: R, want: R, manifest: BackendManifest) => void;

type Played<R> =
  | { readonly result: R; readonly graphs: readonly Graph[] }
  | { readonly refusal: string; readonly graphs: readonly Graph[] };

/** The oracle runs with the other backend's manifest, so that tracing makes the same decisions. */
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

/** A case from a scenario. The oracle runs it once for each manifest. */
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
