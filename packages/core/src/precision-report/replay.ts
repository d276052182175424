import { float32Policy, lowDType } from "../casting-policy.js";
import { type HostTensor, tensor } from "../host-tensor.js";
import type { FedBatch } from "../train/batch.js";
import type { StepDefinition } from "../train/definition.js";
import { type Attribution, diagnose, diagnosisOf } from "../train/diagnose.js";
import type { Program, TypeTree } from "../train/program.js";
import type { ProgramCache } from "../train/program-cache.js";
import { replayProgram } from "../train/step.js";

/** Why a step was not finite. */
export type OverflowCause = "scale too high" | "half too narrow" | "model" | "data";

/** The first value of a skipped step that was not finite, and what made it so. */
export interface Overflow extends Attribution {
  /** The loss scale of that step. */
  readonly scale: number;
  readonly cause: OverflowCause;
  /** The cause in a sentence. */
  readonly because: string;
}

const because: Readonly<Record<OverflowCause, string>> = {
  "scale too high": "at scale 1 the same step is finite: the loss scale carried a gradient out of range",
  "half too narrow": "it is not finite at scale 1 either, and is in float32: the half cannot hold this value",
  model: "it is not finite in float32 at scale 1 either: the model itself made an infinity or NaN",
  data: "the data holds it already",
};

export interface Inspected {
  readonly programs: ProgramCache;
  readonly definition: StepDefinition;
  readonly stateTypes: TypeTree;
}

/**
 * Runs microbatches of the step that has just been skipped again at its scale, with its randomness, on a graph that
 * tells of every value whether it is finite; where one is not, also at scale 1 and in f32. Changes nothing. Undefined
 * when all of it is finite: then the state has moved on, or only the sum of the microbatches overflowed.
 */
export async function replay(
  inspected: Inspected,
  feeds: readonly FedBatch[],
  scale: number,
): Promise<Overflow | undefined> {
  for (const [index, feed] of feeds.entries()) {
    const place = index - feeds.length;
    const found = await search(inspected, feed, { place, scale, inF32: false });
    if (found === undefined) continue;
    const cause = await causeOf(inspected, feed, { place, found });
    return { ...found, scale, cause, because: because[cause] };
  }
  return undefined;
}

async function causeOf(
  inspected: Inspected,
  feed: FedBatch,
  { place, found }: { readonly place: number; readonly found: Attribution },
): Promise<OverflowCause> {
  if (found.phase === "input" && found.value.startsWith("batch")) return "data";
  if ((await search(inspected, feed, { place, scale: 1, inF32: false })) === undefined)
    return "scale too high";
  if (lowDType(inspected.definition.precision.policy) === undefined) return "model";
  const inF32 = await search(inspected, feed, { place, scale: 1, inF32: true });
  return inF32 === undefined ? "half too narrow" : "model";
}

interface Conditions {
  /** So many microbatches from here; below 0 are those that have been. */
  readonly place: number;
  readonly scale: number;
  readonly inF32: boolean;
}

async function search(
  { programs, definition, stateTypes }: Inspected,
  feed: FedBatch,
  { place, scale, inF32 }: Conditions,
): Promise<Attribution | undefined> {
  const { precision } = definition;
  const asked = inF32 ? { ...definition, precision: { ...precision, policy: float32Policy } } : definition;
  const build = (): Program => diagnosisOf(replayProgram(asked, stateTypes, feed.types()));
  const kind = inF32 ? "replay in f32" : "replay";
  const compiled = await programs.compiled(kind, feed.signature, build);
  const fed: Readonly<Record<string, HostTensor>> = {
    place: tensor(BigInt64Array.of(BigInt(place)), []),
    scale: tensor(Float32Array.of(scale), []),
  };
  return diagnose(compiled, { ...feed.inputs, ...fed });
}
