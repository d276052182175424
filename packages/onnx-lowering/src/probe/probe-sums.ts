import { ADDING_OPS, type AddingOp, type HalfDType } from "@mp/graph";
import * as probes from "@mp/graph/probe";
import type { Target } from "../lowerings/target.js";
import type { ProbedEngine } from "./engine.js";
import { runGraph } from "./run-graph.js";

export interface HalfSum extends probes.ProbePair {
  readonly op: AddingOp;
  readonly dtype: HalfDType;
}

/** Finds the supported sums that do not accumulate in f32 in these half dtypes. */
export async function narrowSums(
  engine: ProbedEngine,
  target: Target,
  halves: readonly HalfDType[],
  isThere: (sum: HalfSum) => boolean,
): Promise<readonly HalfSum[]> {
  const found: HalfSum[] = [];
  for (const dtype of halves) {
    const ops = ADDING_OPS.filter((op) => isThere({ op, dtype }));
    const narrow = await probes.narrowSums(dtype, ops, ({ graph, inputs }) =>
      runGraph(engine, graph, target, inputs),
    );
    found.push(...narrow.map((op) => ({ op, dtype })));
  }
  return found;
}
