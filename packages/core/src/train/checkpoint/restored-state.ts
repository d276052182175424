// Checks the values of a run's state in a file, beyond names and types: values that no run of the SDK writes are
// rejected, since they would make a run fail silently later.
import { floatFormats } from "../../dtype.js";
import { LARGEST_COUNTER } from "../../precision/loss-scaler.js";
import { nonFiniteProblem } from "../batch/non-finite.js";
import { isLast, isOwnSlot, ownSlot, type Placed } from "../definition/objective-state.js";
import type { Outputs } from "../definition/outputs.js";
import { slotGroupName, slotGroupOf } from "../definition/state.js";

/** Smallest and largest value of each scalar of a tree, by its path. */
export type Bounds = Readonly<Record<string, readonly [smallest: number, largest: number]>>;

const ownCounters = ["applied", "skipped", "consecutiveSkips", "retries"] as const;

const counters: Bounds = {
  iteration: [0, LARGEST_COUNTER],
  drawn: [0, LARGEST_COUNTER],
};

/**
 * Problems of the values, each with its entry, element and value; names and types have been checked. Master weights,
 * optimizer and model state must be finite, except that an infinity in the initial state of a custom optimizer or model
 * is allowed until a step is applied. Counters must be consistent. The scalers' state must be inside its bounds (by
 * slot).
 */
export function valueProblems(
  tensors: Outputs,
  objectives: readonly Placed[],
  scalerBounds: Bounds,
): readonly string[] {
  const own = objectives.flatMap((objective) =>
    ownCounters.map((counter) => [ownSlot(objective, counter), [0, LARGEST_COUNTER]] as const),
  );
  const rates = Object.keys(tensors).filter((slot) => slotGroupName(slot) === "rates");
  const ratesBounds = Object.fromEntries(
    rates.map((slot) => [slot, [0, floatFormats.f32.maxFinite] as const]),
  );
  const problems = [scalerBounds, Object.fromEntries(own), ratesBounds, counters].flatMap((bounds) =>
    outOfBounds(tensors, bounds),
  );
  if (problems.length === 0) problems.push(...inconsistencies(tensors, objectives));
  const isBeforeFirst = (slot: string): boolean =>
    objectives.some(
      (objective) => isOwnSlot(objective, slot) && scalar(tensors, ownSlot(objective, "applied")) === 0,
    );
  for (const [slot, tensor] of Object.entries(tensors)) {
    const { mustBeFinite, role } = slotGroupOf(slot);
    if (!mustBeFinite) continue;
    const problem = nonFiniteProblem(slot, tensor, role === "state" && isBeforeFirst(slot));
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

function outOfBounds(tensors: Outputs, bounds: Bounds): string[] {
  return Object.entries(bounds).flatMap(([slot, [smallest, largest]]) => {
    const value = scalar(tensors, slot);
    if (value >= smallest && value <= largest) return [];
    return [`${slot} is ${value}, and is from ${smallest} to ${largest} in a run`];
  });
}

/**
 * Every iteration is applied or skipped, and draws for one microbatch or more. After a step that failed between two
 * objectives, those before have counted one more.
 */
function inconsistencies(tensors: Outputs, objectives: readonly Placed[]): string[] {
  const at = (slot: string): number => scalar(tensors, slot);
  const problems: string[] = [];
  const ordered: [less: string, more: string][] = [["iteration", "drawn"]];
  for (const objective of objectives) {
    const [applied, skipped] = [ownSlot(objective, "applied"), ownSlot(objective, "skipped")];
    const more = at(applied) + at(skipped) - at("iteration");
    if (more < 0 || (more > 0 && isLast(objective))) {
      problems.push(
        `iteration is ${at("iteration")}, and ${applied} ${at(applied)} and ${skipped} ${at(skipped)} do not add up to it`,
      );
    }
    ordered.unshift([ownSlot(objective, "consecutiveSkips"), skipped]);
  }
  for (const [less, more] of ordered) {
    if (at(less) > at(more)) problems.push(`${less} is ${at(less)}, and ${more} is only ${at(more)}`);
  }
  return problems;
}

const scalar = (tensors: Outputs, slot: string): number => Number(tensors[slot]?.data[0]);
