import { type DType, MpError, type Op } from "@mp/core";
import { opDTypes } from "@mp/core/backend";
import { lowerGraph } from "../lower.js";
import type { NativeRuntime } from "../native/index.js";
import type { Target } from "../target.js";
import { type Pair, probeGraph } from "./probe-graph.js";
import { runOnce } from "./run-once.js";

/** Ops and dtypes that the engine cannot load or run, each with its own words. */
export type Missing = ReadonlyMap<Op, ReadonlyMap<DType, string>>;

/**
 * Asks the engine about every op in every dtype, lowered as it will be: all in one session that is loaded and run,
 * and where that fails, half by half. To the engine a half that is emulated is f32, so it is not asked about.
 */
export async function probeKernels(runtime: NativeRuntime, target: Target): Promise<Missing> {
  const missing = new Map<Op, Map<DType, string>>();
  const search = async (pairs: readonly Pair[]): Promise<void> => {
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
  const all = Object.entries(opDTypes) as readonly (readonly [Op, readonly DType[]])[];
  const isAsked = (dtype: DType): boolean => !(target.emulated as readonly DType[]).includes(dtype);
  await search(all.flatMap(([op, dtypes]) => dtypes.filter(isAsked).map((dtype): Pair => ({ op, dtype }))));
  return missing;
}

/** What the engine says against those pairs; undefined when it runs them all. */
async function failureOf(
  runtime: NativeRuntime,
  pairs: readonly Pair[],
  target: Target,
): Promise<string | undefined> {
  const graph = probeGraph(pairs);
  const { model, outputName } = lowerGraph(graph, target);
  const outputs = new Map(graph.outputs.map(({ name, value }) => [outputName(name), value]));
  try {
    await runOnce(runtime, model, outputs, true);
    return undefined;
  } catch (error) {
    if (MpError.is(error) && error.code !== "MP_OUT_OF_MEMORY") return error.message;
    throw error;
  }
}
