import { float32Policy, lowDType } from "../../cast/policy.js";
import { MpError } from "../../errors.js";
import { type HostTensor, tensor } from "../../host-tensor.js";
import { checkOptions } from "../../options.js";
import { shown } from "../../shown.js";
import type { FedBatch } from "../data/batch.js";
import type { StepDefinition } from "../definition.js";
import type { Program, TypeTree } from "../program/program.js";
import type { ProgramCache } from "../program/program-cache.js";
import { replayProgram } from "../step/programs.js";
import { type Attribution, diagnose, diagnosisOf, scaleAttribution } from "./diagnose.js";

/** Why a step was not finite. */
export type OverflowCause = "scale too high" | "scale out of range" | "half too narrow" | "model" | "data";

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
  "scale out of range": "the loss scaler gave a scale that gradients cannot be divided by",
  "half too narrow": "it is not finite at scale 1 either, and is in float32: the half cannot hold this value",
  model: "it is not finite in float32 at scale 1 either: the model itself made an infinity or NaN",
  data: "the data holds it already",
};

export interface Inspected {
  readonly programs: ProgramCache;
  readonly definition: StepDefinition;
  readonly stateTypes: TypeTree;
}

/** @throws MP_INVALID_ARGUMENT for a value that is not a list of batches, or an invalid scale */
export function checkReplay(batches: readonly unknown[], options: { readonly scale: number }): void {
  checkOptions("replay", options, { scale: true }, "{ scale }");
  if (typeof options.scale !== "number") {
    const got = shown(options.scale);
    throw new MpError("MP_INVALID_ARGUMENT", `replay: scale is that of the step's result, got ${got}`);
  }
  if (Array.isArray(batches) && batches.length > 0) return;
  const got = shown(batches);
  throw new MpError("MP_INVALID_ARGUMENT", `replay: takes the step's batches as a list: [batch], got ${got}`);
}

/**
 * Runs microbatches of the step that was just skipped again at its scale and with its randomness, on a graph that
 * checks every value for being finite; if one is not, also at scale 1 and in f32. Changes no state. Undefined if
 * everything is finite: then the state has changed since, or only the sum of the microbatches overflowed.
 */
export async function replay(
  inspected: Inspected,
  feeds: readonly FedBatch[],
  scale: number,
): Promise<Overflow | undefined> {
  const atFault = scaleAttribution(inspected.definition.precision.lossScaler, scale);
  if (atFault !== undefined) {
    const cause = "scale out of range";
    return { ...atFault, scale, cause, because: because[cause] };
  }
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
