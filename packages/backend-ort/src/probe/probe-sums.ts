import { type HalfDType, MpError } from "@mp/core";
import { type ProbePair, sumProbe } from "@mp/core/backend";
import { ADDING_OPS, type AddingOp } from "@mp/core/graph";
import type { NativeRuntime } from "../native/index.js";
import type { Target } from "../target.js";
import { runGraph } from "./run-once.js";

export interface HalfSum extends ProbePair {
  readonly op: AddingOp;
  readonly dtype: HalfDType;
}

/**
 * Sums in these halves that do not accumulate in f32: probed all together, and one by one where the engine fails for
 * any.
 */
export async function narrowSums(
  runtime: NativeRuntime,
  target: Target,
  halves: readonly HalfDType[],
  isThere: (sum: HalfSum) => boolean,
): Promise<readonly HalfSum[]> {
  const ask = async (
    dtype: HalfDType,
    ops: readonly AddingOp[],
  ): Promise<readonly AddingOp[] | undefined> => {
    const { graph, inputs, narrow } = sumProbe(dtype, ops);
    try {
      return narrow(await runGraph(runtime, graph, target, inputs));
    } catch (error) {
      if (MpError.is(error) && error.code !== "MP_OUT_OF_MEMORY") return undefined;
      throw error;
    }
  };
  const found: HalfSum[] = [];
  for (const dtype of halves) {
    const ops = ADDING_OPS.filter((op) => isThere({ op, dtype }));
    const together = await ask(dtype, ops);
    if (together !== undefined) found.push(...together.map((op) => ({ op, dtype })));
    // An op that cannot be probed is not known to be right.
    else for (const op of ops) if ((await ask(dtype, [op]))?.length !== 0) found.push({ op, dtype });
  }
  return found;
}
