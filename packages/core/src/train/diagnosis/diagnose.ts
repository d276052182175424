import { checkOptions, invalid, isPlainObject, shown } from "@mp/graph/internal";
import type { FlatBatch } from "../batch/batch.js";
import type { Placed } from "../definition/objective-state.js";
import { advise, type DiagnosisCause, explanations } from "./advice.js";
import type { Attribution } from "./attribution.js";
import { examine } from "./examine.js";
import type { Remedy } from "./remedies.js";
import { type Inspected, Replay } from "./replay.js";

/** The problem of a step and its cause: the first value that is not finite, or gradients or updates that are lost. */
export interface Diagnosis extends Attribution {
  /** The loss scale of the step. */
  readonly scale: number;
  readonly cause: DiagnosisCause;
  /** A sentence that explains the cause. */
  readonly because: string;
  /** The fact that shows the cause, and advice. */
  readonly remedy: string;
  /**
   * Changes of options that fix the step if `withRemedies` applies all of them; all were tried together on this step.
   * Empty if no option helps: for data, the model, the learning rate.
   */
  readonly remedies: readonly Remedy[];
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
 * Runs the microbatches of a step at its scale and with its random numbers, on a graph that finds non-finite
 * values and counts gradients and updates. If there is a problem, also runs the step at other scales, in f32
 * and with possible remedies. Changes no state. Returns undefined if there is no problem. For a step that was
 * skipped, this means that the state has changed since, or that only the sum of its microbatches overflowed.
 */
export async function diagnose(
  inspected: Inspected,
  feeds: readonly FlatBatch[],
  { scale, isPast }: StepAt,
): Promise<Diagnosis | undefined> {
  const still: Diagnosis[] = [];
  for (const [index, feed] of feeds.entries()) {
    const replay = new Replay(inspected, feed, isPast ? index - feeds.length : index);
    const found = await diagnoseReplay(replay, scale);
    if (found?.cause === "no gradient") still.push(found);
    else if (found !== undefined) return found;
  }
  // A step learns if one of its microbatches does, even where all labels of another microbatch are ignored.
  return still.length === feeds.length ? still[0] : undefined;
}

/** Diagnoses one microbatch of a step. */
export async function diagnoseReplay(replay: Replay, scale: number): Promise<Diagnosis | undefined> {
  const finding = await examine(replay, scale);
  if (finding === undefined) return undefined;
  const { cause, at, remedies = [] } = finding;
  return { ...at, scale, cause, because: explanations[cause], remedy: advise(finding), remedies };
}
