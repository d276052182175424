import type { DType } from "@mp/core";
import { probes } from "@mp/core/backend";
import { type Op, opDTypes } from "@mp/core/graph";
import type { NativeRuntime } from "../native/index.js";
import type { Target } from "../target.js";
import { probeGraph } from "./probe-graph.js";
import { runGraph } from "./run-once.js";

/** The engine's error for each op in a dtype that it cannot load or run, by `pairKey`. */
export type Missing = ReadonlyMap<string, string>;

/** Every op in every dtype that it exists in, except emulated halves: to the engine these are f32. */
export function pairsFor({ emulated }: Target): readonly probes.ProbePair[] {
  const all = Object.entries(opDTypes) as readonly (readonly [Op, readonly DType[]])[];
  const isAsked = (dtype: DType): boolean => !(emulated as readonly DType[]).includes(dtype);
  return all.flatMap(([op, dtypes]) =>
    dtypes.filter(isAsked).map((dtype): probes.ProbePair => ({ op, dtype })),
  );
}

/** Probes ops in dtypes, lowered as they will be. */
export const probeKernels = (
  runtime: NativeRuntime,
  target: Target,
  asked: readonly probes.ProbePair[],
): Promise<Missing> => probes.missingPairs(asked, (pairs) => runGraph(runtime, probeGraph(pairs), target));
