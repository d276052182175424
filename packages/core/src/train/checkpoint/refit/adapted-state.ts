/**
 * Fits a checkpoint to a run with another `frozen` mask, other groups of parameters, or with other optional parts of the
 * state. What a parameter has keeps its values if the file has all of it; the rest starts as in a new run from the
 * file's weights. The weights themselves always come from the file.
 */
import { formatType } from "../../../graph/format-type.js";
import type { HostTensor } from "../../../host/host-tensor.js";
import type { StepDefinition } from "../../definition/definition.js";
import { isOwnSlot, ownSlot } from "../../definition/objective-state.js";
import type { Outputs } from "../../definition/outputs.js";
import { isOptionalSlot, slotGroupName, slotGroupOf } from "../../definition/state.js";
import { frozenInAll } from "../../weights/frozen.js";

/** Facts about the two runs. */
export interface Fitting {
  readonly types: Readonly<Record<string, Pick<HostTensor, "dtype" | "shape">>>;
  readonly definitions: readonly StepDefinition[];
  /** Paths of all parameters, frozen ones too. */
  readonly paths: readonly string[];
  readonly tensors: Outputs;
  /** Whether this run or the file's has groups of parameters. */
  readonly isGrouped: boolean;
}

export interface Adapted {
  /** The slots that come from the file. */
  readonly kept: Outputs;
  /** The slots that a new run from the file's weights begins with. */
  readonly begun: readonly string[];
  /** Entries of the file that the run has no place for. */
  readonly dropped: readonly string[];
}

/** Undefined where the file does not fit for another reason. */
export function adapted(fitting: Fitting): Adapted | undefined {
  const { types, tensors } = fitting;
  const wanted = Object.keys(types).filter((slot) => slotGroupOf(slot).isSaved);
  const fits = (slot: string, name = slot): boolean => {
    const found = Object.hasOwn(tensors, name) ? tensors[name] : undefined;
    return found !== undefined && formatType(found) === formatType(types[slot] as HostTensor);
  };
  const kept: Record<string, HostTensor> = {};
  const begun: string[] = [];
  const used = new Set<string>();
  const keep = (slot: string, name: string): void => {
    kept[slot] = tensors[name] as HostTensor;
    used.add(name);
  };
  for (const slots of together(fitting, wanted)) {
    const names = slots.map((slot) =>
      fits(slot) ? slot : elsewhere(fitting, slot, (name) => fits(slot, name)),
    );
    if (names.every((name) => name !== undefined)) {
      for (const [at, slot] of slots.entries()) keep(slot, names[at] as string);
    } else if (slots.every((slot) => mayBegin(fitting, slot))) begun.push(...slots);
    else return undefined;
  }
  const dropped = Object.keys(tensors).filter((name) => !used.has(name));
  return dropped.every((name) => mayEnd(fitting, name)) ? { kept, begun, dropped } : undefined;
}

/** Slots by what is kept whole or not at all: the optimizer's state of one parameter, or a slot of its own. */
function together(fitting: Fitting, slots: readonly string[]): readonly (readonly string[])[] {
  const groups = new Map<string, string[]>();
  for (const slot of slots) {
    const path = slotGroupName(slot) === "optimizer" ? pathIn(fitting, slot) : undefined;
    const id = path === undefined ? `slot ${slot}` : `optimizer of ${path}`;
    groups.set(id, [...(groups.get(id) ?? []), slot]);
  }
  return [...groups.values()];
}

/** The parameter that a slot is of: the longest path that the slot ends with. */
function pathIn({ paths }: Pick<Fitting, "paths">, slot: string): string | undefined {
  const found = paths.filter((path) => path !== "" && slot.endsWith(`/${path}`));
  return found.sort((a, b) => b.length - a.length)[0];
}

/** The same part of an optimizer's state in another group: one entry with the same end, as `mean/0/kernel`. */
function elsewhere(fitting: Fitting, slot: string, fits: (name: string) => boolean): string | undefined {
  const path = pathIn(fitting, slot);
  const definition = fitting.definitions.find((each) => isOwnSlot(each, slot));
  if (
    !fitting.isGrouped ||
    slotGroupName(slot) !== "optimizer" ||
    path === undefined ||
    definition === undefined
  )
    return undefined;
  const part = slot
    .slice(0, -path.length - 1)
    .split("/")
    .at(-1);
  const start = `${ownSlot(definition, "optimizer")}/`;
  const found = Object.keys(fitting.tensors).filter(
    (name) => name.startsWith(start) && name.endsWith(`/${part}/${path}`) && fits(name),
  );
  return found.length === 1 ? found[0] : undefined;
}

/** Whether a slot that the file lacks may begin as in a new run. */
function mayBegin(fitting: Fitting, slot: string): boolean {
  if (isOptionalSlot(slot)) return true;
  const group = slotGroupName(slot);
  const path = pathIn(fitting, slot);
  const wasFrozen = path !== undefined && Object.hasOwn(fitting.tensors, `frozen/${path}`);
  if (group === "frozen") return !wasFrozen;
  if (group === "master") return wasFrozen;
  return group === "optimizer" && (wasFrozen || fitting.isGrouped);
}

/** Whether the run may leave out an entry of the file. */
function mayEnd({ types, definitions, paths, isGrouped }: Fitting, name: string): boolean {
  if (isOptionalSlot(name)) return true;
  const [group = ""] = name.split("/");
  const path = pathIn({ paths }, name);
  if (group === "frozen") return path !== undefined && !Object.hasOwn(types, name);
  const isFrozen = path !== undefined && frozenInAll(definitions).has(path);
  if (group === "master") return isFrozen;
  return group === "optimizer" && (isFrozen || isGrouped);
}
