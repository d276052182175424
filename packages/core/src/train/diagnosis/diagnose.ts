import { type HostTensor, tensor } from "@mp/graph";
import { checkOptions, invalid, isPlainObject, shown } from "@mp/graph/internal";
import { float32Policy, lowDType } from "../../cast/policy.js";
import type { FlatBatch } from "../batch/batch.js";
import type { CompiledPrograms } from "../compile/compiled-programs.js";
import type { StepDefinition } from "../definition/definition.js";
import { type Placed, withObjective } from "../definition/objective-state.js";
import type { Program, TypeTree } from "../definition/traced-program.js";
import { revisitProgram } from "../programs/step-programs.js";
import { type Attribution, attribute, diagnosisProgram, scaleAttribution } from "./attribution.js";

/** The reason why a step was not finite. */
export type DiagnosisCause = "scale too high" | "scale out of range" | "half too narrow" | "model" | "data";

/** The first value of a step that is not finite, and the cause. */
export interface Diagnosis extends Attribution {
  /** The loss scale of the step. */
  readonly scale: number;
  readonly cause: DiagnosisCause;
  /** A sentence that explains the cause. */
  readonly because: string;
}

const because: Readonly<Record<DiagnosisCause, string>> = {
  "scale too high": "at scale 1 the same step is finite: the loss scale carried a gradient out of range",
  "scale out of range": "the loss scaler gave a scale that gradients cannot be divided by",
  "half too narrow": "it is not finite at scale 1 either, and is in float32: the half cannot hold this value",
  model: "it is not finite in float32 at scale 1 either: the model itself made an infinity or NaN",
  data: "the data holds it already",
};

export interface Inspected {
  readonly programs: CompiledPrograms;
  readonly definition: StepDefinition;
  readonly stateTypes: TypeTree;
}

type ScaleOf = (objective: Placed) => number | undefined;

/**
 * Checks the arguments of `diagnose` and returns the given scale for each objective.
 * @throws MP_INVALID_ARGUMENT for a value that is not a list of batches, or an invalid scale
 */
export function checkDiagnose(
  batches: readonly unknown[],
  options: { readonly scale?: unknown },
  objectives: readonly Placed[],
): ScaleOf {
  checkOptions("diagnose", options, { scale: true }, "{ scale }");
  const scaleOf = scales(options.scale, objectives[0]?.objective?.all);
  if (Array.isArray(batches) && batches.length > 0) return scaleOf;
  const got = shown(batches);
  throw invalid(`diagnose: takes a step's batches as a list: [batch], got ${got}`);
}

function scales(scale: unknown, names: readonly string[] | undefined): ScaleOf {
  const isScale = (value: unknown): value is number | undefined =>
    value === undefined || typeof value === "number";
  if (names === undefined && isScale(scale)) return () => scale;
  if (names !== undefined && (scale === undefined || isPlainObject(scale))) {
    const given = Object.entries(scale ?? {});
    if (given.every(([name, value]) => names.includes(name) && isScale(value))) {
      const known = new Map(given as [string, number | undefined][]);
      return ({ objective }) => known.get(objective?.name ?? "");
    }
  }
  const wanted =
    names === undefined
      ? "scale must be that of a step's result"
      : `scale must be an object with those of a step's results: { ${names.join(", ")} }`;
  throw invalid(`diagnose: ${wanted}, got ${shown(scale)}`);
}

/** The step to diagnose: the next one, or the step that was just skipped, whose microbatches have been drawn. */
export interface StepAt {
  readonly scale: number;
  readonly isPast: boolean;
}

/**
 * Runs the microbatches of a step at its scale and with its random numbers, on a graph that checks every value for
 * being finite. If one is not, also runs at scale 1 and in f32. Changes no state. Undefined if everything is finite:
 * then the state has changed since, or only the sum of the microbatches overflowed.
 */
export async function diagnose(
  inspected: Inspected,
  feeds: readonly FlatBatch[],
  at: StepAt,
): Promise<Diagnosis | undefined> {
  const { scale } = at;
  const atFault = scaleAttribution(inspected.definition.precision.lossScaler, scale);
  if (atFault !== undefined) {
    const cause = "scale out of range";
    return { ...atFault, scale, cause, because: because[cause] };
  }
  const found = await firstNonFinite(inspected, feeds, at);
  if (found === undefined) return undefined;
  const cause = await findCause(inspected, found);
  return { ...found.attribution, scale, cause, because: because[cause] };
}

interface Found {
  readonly attribution: Attribution;
  /** The microbatch with the value. */
  readonly feed: FlatBatch;
  readonly place: number;
}

/** The first microbatch with a value that is not finite, and that value. */
export async function firstNonFinite(
  inspected: Inspected,
  feeds: readonly FlatBatch[],
  { scale, isPast }: StepAt,
): Promise<Found | undefined> {
  for (const [index, feed] of feeds.entries()) {
    const place = isPast ? index - feeds.length : index;
    const attribution = await search(inspected, feed, { place, scale, inF32: false });
    if (attribution !== undefined) return { attribution, feed, place };
  }
  return undefined;
}

async function findCause(inspected: Inspected, { attribution, feed, place }: Found): Promise<DiagnosisCause> {
  if (Object.hasOwn(feed.inputs, attribution.value)) return "data";
  if ((await search(inspected, feed, { place, scale: 1, inF32: false })) === undefined)
    return "scale too high";
  if (lowDType(inspected.definition.precision.policy) === undefined) return "model";
  const inF32 = await search(inspected, feed, { place, scale: 1, inF32: true });
  return inF32 === undefined ? "half too narrow" : "model";
}

interface Conditions {
  /** Distance in microbatches from the next one to be drawn; negative for earlier ones. */
  readonly place: number;
  readonly scale: number;
  readonly inF32: boolean;
}

async function search(
  { programs, definition, stateTypes }: Inspected,
  feed: FlatBatch,
  { place, scale, inF32 }: Conditions,
): Promise<Attribution | undefined> {
  const { precision } = definition;
  const asked = inF32 ? { ...definition, precision: { ...precision, policy: float32Policy } } : definition;
  const build = (): Program => diagnosisProgram(revisitProgram(asked, stateTypes, feed.types()));
  const kind = withObjective(definition, inF32 ? "diagnose in f32" : "diagnose");
  const compiled = await programs.findOrCompile(kind, feed.signature, build);
  const fed: Readonly<Record<string, HostTensor>> = {
    place: tensor(Int32Array.of(place), []),
    scale: tensor(Float32Array.of(scale), []),
  };
  return attribute(compiled, { ...feed.inputs, ...fed });
}
