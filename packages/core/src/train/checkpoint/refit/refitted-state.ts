import { type Backend, formatType, type HostTensor, leavesOf, type State } from "@mp/graph";
import type { StepDefinition } from "../../definition/definition.js";
import { readSlot } from "../../definition/objective-state.js";
import type { Outputs } from "../../definition/outputs.js";
import type { Slot } from "../../definition/slot.js";
import { findSlotGroup, isValueType } from "../../definition/state.js";
import { feedName } from "../../definition/traced-program.js";
import { type GivenTypes, makeState } from "../../objective/initial-state.js";
import { frozenInAll } from "../../weights/frozen.js";
import { listMisfits, type OpenCheckpoint } from "../file/open-checkpoint.js";
import { hasGroups, printSettings, type Setting } from "../file/settings.js";
import { weightsIn } from "../file/weights-in.js";
import { type Adapted, adaptSlots } from "./kept-and-new-slots.js";

interface Refit {
  readonly given: GivenTypes;
  readonly backend: Backend;
  readonly objectives: readonly StepDefinition[];
  readonly settings: readonly Setting[];
}

/**
 * Fits the file's state to a run with another frozen mask, other groups or other optional parts, and adds a note for
 * the user; undefined if the state does not fit.
 */
export async function refitState(
  opened: OpenCheckpoint,
  state: State,
  { backend, objectives, settings, given }: Refit,
): Promise<{ readonly tensors: Outputs; readonly note: string } | undefined> {
  const { tensors, metadata } = opened;
  const parameters = leavesOf(given.parameters, isValueType, "params");
  const weightOf = weightsIn(opened, false);
  const weights = parameters.flatMap(([path, type]) => {
    const weight = weightOf(path, type.dtype);
    return weight !== undefined && formatType(weight) === formatType(type)
      ? [[feedName("parameters", path), weight] as const]
      : [];
  });
  if (weights.length < parameters.length) return undefined;
  const slotOf = slotReader(objectives, given);
  const selectSlots = (of: readonly string[]): ReadonlyMap<string, Slot> =>
    new Map(
      of.flatMap((name) => {
        const slot = slotOf(name);
        return slot === undefined ? [] : [[name, slot] as const];
      }),
    );
  const held = selectSlots(Object.keys(tensors));
  // Some entry belongs to no group.
  if (held.size < Object.keys(tensors).length) return undefined;
  const fit = adaptSlots({
    wanted: selectSlots(Object.keys(state.types).filter((slot) => findSlotGroup(slot).isSaved)),
    held,
    types: state.types,
    tensors,
    frozen: frozenInAll(objectives),
    wereFrozen: new Set(
      [...held.values()].flatMap(({ group, path }) => (group === "frozen" ? (path ?? []) : [])),
    ),
    isGrouped: hasGroups(printSettings(settings)) || hasGroups(metadata),
  });
  if (fit === undefined) return undefined;
  const model = leavesOf(given.model, isValueType, "model").map(([path]) => feedName("model", path));
  const values = [...weights, ...model.map((slot) => [slot, tensors[slot] as HostTensor] as const)];
  const { slots: fresh } = await makeState(backend, objectives, given, Object.fromEntries(values), false);
  const begun = [...fit.begun.keys()].map((slot) => [slot, fresh[slot] as HostTensor] as const);
  return { tensors: { ...fit.kept, ...Object.fromEntries(begun) }, note: describeChange(fit) };
}

/** Makes a function that parses the slot names of a run. */
export function slotReader(
  objectives: readonly StepDefinition[],
  given: GivenTypes,
): (name: string) => Slot | undefined {
  const paths = new Set(leavesOf(given.parameters, isValueType, "params").map(([path]) => path));
  const names = { objectives: objectives[0]?.objective?.all ?? [], paths };
  return (name) => readSlot(names, name);
}

/** Describes which state starts new and which is left out; weights always keep their values. */
function describeChange({ begun, dropped }: Adapted): string {
  const [started, left] = [begun, dropped].map((slots) =>
    [...slots].flatMap(([name, { group }]) => (group === "master" || group === "frozen" ? [] : name)),
  ) as [string[], string[]];
  const parts = [
    started.length === 0 ? "nothing starts new" : `starts new: ${listMisfits(started)}`,
    ...(left.length === 0 ? [] : [`leaves out: ${listMisfits(left)}`]),
  ];
  return `fits after a change of what is trained or kept; weights and all other state continue, ${parts.join("; ")}`;
}
