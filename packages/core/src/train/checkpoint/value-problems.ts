// Checks the values of a run's state in a file, beyond names and types: values that no run of the SDK writes are
// rejected, since they would make a run fail silently later.
import { floatFormats, type HostTensor } from "@mp/graph";
import { findPlace } from "../../optim/states/stored-place.js";
import { LARGEST_COUNTER } from "../../precision/loss-scaler.js";
import { isLast, isOwnSlot, ownSlot, type Placed } from "../definition/objective-state.js";
import type { Outputs } from "../definition/outputs.js";
import type { Slot } from "../definition/slot.js";
import { findSlotGroup, slotGroupName } from "../definition/state.js";
import { describeElement, nonFiniteProblem } from "../weights/non-finite.js";

/** Smallest and largest value of the elements of each tensor, by slot. */
export type Bounds = Readonly<Record<string, readonly [smallest: number, largest: number]>>;

const ownCounters = ["applied", "skipped", "consecutiveSkips", "retries"] as const;

const counters: Bounds = {
  iteration: [0, LARGEST_COUNTER],
  drawn: [0, LARGEST_COUNTER],
};

/**
 * Finds values that no run writes, each with its entry, element and value; names and types have been checked before.
 * Master weights, optimizer and model state must be finite, except that the initial state of a custom optimizer or
 * model may have an infinity until a step is applied; frozen parameters must not be NaN. Scales of state in few bits
 * must be in their format's range, counters consistent, and the scalers' states inside `bounds` (by slot).
 */
export function valueProblems(
  tensors: Outputs,
  objectives: readonly Placed[],
  scalerBounds: Bounds,
  slotOf: (name: string) => Slot | undefined,
): readonly string[] {
  const own = objectives.flatMap((objective) =>
    ownCounters.map((counter) => [ownSlot(objective, counter), [0, LARGEST_COUNTER]] as const),
  );
  const rates = Object.keys(tensors)
    .filter((slot) => slotGroupName(slot) === "rates")
    .map((slot) => [slot, [0, floatFormats.f32.maxFinite]] as const);
  const bounds = {
    ...scalerBounds,
    ...Object.fromEntries([...own, ...rates, ...boundsOfScales(tensors, slotOf)]),
    ...counters,
  };
  const problems = outOfBounds(tensors, bounds);
  if (problems.length === 0) problems.push(...inconsistencies(tensors, objectives));
  const isBeforeFirst = (slot: string): boolean =>
    objectives.some(
      (objective) => isOwnSlot(objective, slot) && scalar(tensors, ownSlot(objective, "applied")) === 0,
    );
  for (const [slot, tensor] of Object.entries(tensors)) {
    const { infinities } = findSlotGroup(slot);
    if (infinities === undefined || Object.hasOwn(bounds, slot)) continue;
    const allowsInfinity = infinities === "always" || (infinities !== "never" && isBeforeFirst(slot));
    const problem = nonFiniteProblem(slot, tensor, allowsInfinity);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

/** Bounds of the scales that belong to optimizer state in few bits. */
function boundsOfScales(
  tensors: Outputs,
  slotOf: (name: string) => Slot | undefined,
): readonly (readonly [slot: string, Bounds[string]])[] {
  return Object.keys(tensors).flatMap((name) => {
    const slot = slotOf(name);
    if (slot?.group !== "optimizer") return [];
    const { scales, bounds } = findPlace(name, slot.path, tensors);
    return scales === undefined || bounds === undefined ? [] : [[scales, bounds] as const];
  });
}

function outOfBounds(tensors: Outputs, bounds: Bounds): string[] {
  return Object.entries(bounds).flatMap(([slot, [smallest, largest]]) => {
    const tensor = tensors[slot] as HostTensor;
    const values = Array.from(tensor.data, Number);
    const index = values.findIndex((value) => !(value >= smallest && value <= largest));
    if (index === -1) return [];
    const said = describeElement(slot, values[index] as number, tensor, index);
    return [`${said}: a run keeps it from ${smallest} to ${largest}`];
  });
}

/**
 * Checks the counters: each iteration is applied or skipped, and draws random numbers for at least one microbatch. If a
 * step failed between two objectives, the earlier objectives have counted one iteration more.
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
