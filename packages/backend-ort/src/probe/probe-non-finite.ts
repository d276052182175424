import { MpError } from "@mp/core";
import { nonFiniteProbe } from "@mp/core/backend";
import type { ComputeDType } from "@mp/core/graph";
import type { NativeRuntime } from "../native/index.js";
import type { Target } from "../target.js";
import { runGraph } from "./run-once.js";

/** How convolutions in those dtypes differ from IEEE 754 for infinities and NaN, or the engine's error for them. */
export async function nonFiniteProblem(
  runtime: NativeRuntime,
  target: Target,
  dtypes: readonly ComputeDType[],
): Promise<string | undefined> {
  const { graph, inputs, problem } = nonFiniteProbe(dtypes);
  try {
    return problem(await runGraph(runtime, graph, target, inputs));
  } catch (error) {
    if (MpError.is(error) && error.code !== "MP_OUT_OF_MEMORY") return error.message;
    throw error;
  }
}
