import { type DType, MpError } from "@mp/core";
import type { ProbePair } from "@mp/core/backend";
import { type Op, opDTypes } from "@mp/core/graph";
import type { NativeRuntime } from "../native/index.js";
import type { Target } from "../target.js";
import { probeGraph } from "./probe-graph.js";
import { runGraph } from "./run-once.js";

/** Ops and dtypes that the engine cannot load or run, each with the engine's message. */
export type Missing = ReadonlyMap<Op, ReadonlyMap<DType, string>>;

/** Every op in every dtype that it exists in, except emulated halves: to the engine these are f32. */
export function pairsFor({ emulated }: Target): readonly ProbePair[] {
  const all = Object.entries(opDTypes) as readonly (readonly [Op, readonly DType[]])[];
  const isAsked = (dtype: DType): boolean => !(emulated as readonly DType[]).includes(dtype);
  return all.flatMap(([op, dtypes]) => dtypes.filter(isAsked).map((dtype): ProbePair => ({ op, dtype })));
}

/**
 * Probes ops in dtypes, lowered as they will be: all in one session that is loaded and run; where that fails, each half
 * of the pairs separately.
 */
export async function probeKernels(
  runtime: NativeRuntime,
  target: Target,
  asked: readonly ProbePair[],
): Promise<Missing> {
  const missing = new Map<Op, Map<DType, string>>();
  const search = async (pairs: readonly ProbePair[]): Promise<void> => {
    const failure = await failureOf(runtime, pairs, target);
    const [only] = pairs;
    if (failure === undefined || only === undefined) return;
    if (pairs.length === 1) {
      missing.set(only.op, (missing.get(only.op) ?? new Map<DType, string>()).set(only.dtype, failure));
      return;
    }
    const middle = pairs.length >> 1;
    await search(pairs.slice(0, middle));
    await search(pairs.slice(middle));
  };
  await search(asked);
  return missing;
}

/** The engine's error for those pairs; undefined when it runs them all. */
async function failureOf(
  runtime: NativeRuntime,
  pairs: readonly ProbePair[],
  target: Target,
): Promise<string | undefined> {
  try {
    await runGraph(runtime, probeGraph(pairs), target);
    return undefined;
  } catch (error) {
    if (MpError.is(error) && error.code !== "MP_OUT_OF_MEMORY") return error.message;
    throw error;
  }
}
