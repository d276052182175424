/**
 * Fits a checkpoint to a run with another `frozen` mask, other groups of parameters or other optional parts of the
 * state. Optimizer state of a parameter comes from the file if the file has all of it; otherwise it starts as in a new
 * run from the file's weights. The weights themselves always come from the file.
 */
import { formatType, type HostTensor, type State, type ValueType } from "@mp/graph";
import type { Outputs } from "../../definition/outputs.js";
import type { Slot } from "../../definition/slot.js";
import { isOptionalSlot } from "../../definition/state.js";

/** The slots of a checkpoint, and of the run that the checkpoint does not fit. */
export interface Mismatch {
  /** Slots by name that a checkpoint of this run would have. */
  readonly wanted: ReadonlyMap<string, Slot>;
  /** Slots by name that the file has. */
  readonly held: ReadonlyMap<string, Slot>;
  readonly types: State["types"];
  readonly tensors: Outputs;
  /** Paths of the parameters that this run does not train. */
  readonly frozen: ReadonlySet<string>;
  /** Paths of the parameters that the file's run did not train. */
  readonly wereFrozen: ReadonlySet<string>;
  /** Whether this run or the file's has groups of parameters. */
  readonly isGrouped: boolean;
}

export interface Adapted {
  /** Tensors that come from the file. */
  readonly kept: Outputs;
  /** Slots that start as in a new run from the file's weights. */
  readonly begun: ReadonlyMap<string, Slot>;
  /** Entries of the file that the run does not use. */
  readonly dropped: ReadonlyMap<string, Slot>;
}

/** Decides which slots are kept, begun and dropped; undefined if the file does not fit for another reason. */
export function adaptSlots(mismatch: Mismatch): Adapted | undefined {
  const { wanted, held, tensors } = mismatch;
  const kept: Record<string, HostTensor> = {};
  const begun = new Map<string, Slot>();
  const used = new Set<string>();
  for (const unit of groupUnits(wanted)) {
    const sources = unit.map(([name, slot]) => findSource(mismatch, name, slot));
    if (sources.every((source) => source !== undefined)) {
      for (const [at, [name]] of unit.entries()) {
        const source = sources[at] as string;
        kept[name] = tensors[source] as HostTensor;
        used.add(source);
      }
    } else if (unit.every(([, slot]) => mayBegin(mismatch, slot))) {
      for (const [name, slot] of unit) begun.set(name, slot);
    } else return undefined;
  }
  const dropped = new Map([...held].filter(([name]) => !used.has(name)));
  return [...dropped].every(([name, slot]) => mayEnd(mismatch, name, slot))
    ? { kept, begun, dropped }
    : undefined;
}

type Named = readonly [name: string, slot: Slot];

/** Groups slots that are kept or dropped as a whole: the optimizer's state of one parameter, or a single slot. */
function groupUnits(slots: ReadonlyMap<string, Slot>): readonly (readonly Named[])[] {
  const units = new Map<string, Named[]>();
  for (const [name, slot] of slots) {
    const id =
      slot.group === "optimizer" && slot.path !== undefined ? `optimizer of ${slot.path}` : `slot ${name}`;
    units.set(id, [...(units.get(id) ?? []), [name, slot]]);
  }
  return [...units.values()];
}

/** The file's entry for a slot: of the same name, or the same part of the optimizer state in another `byPath` group. */
function findSource(mismatch: Mismatch, name: string, slot: Slot): string | undefined {
  const { held, types, tensors, isGrouped } = mismatch;
  const fits = (entry: string): boolean =>
    held.has(entry) && formatType(tensors[entry] as HostTensor) === formatType(types[name] as ValueType);
  if (fits(name)) return name;
  if (!isGrouped || slot.group !== "optimizer" || slot.path === undefined) return undefined;
  const isSame = ({ group, objective, part, path }: Slot): boolean =>
    group === slot.group &&
    objective === slot.objective &&
    path === slot.path &&
    part.at(-1) === slot.part.at(-1);
  const found = [...held].filter(([entry, other]) => isSame(other) && fits(entry));
  return found.length === 1 ? found[0]?.[0] : undefined;
}

/** Whether a slot that the file lacks may begin as in a new run. */
function mayBegin({ wereFrozen, isGrouped }: Mismatch, { group, path }: Slot): boolean {
  if (isOptionalSlot(group)) return true;
  const wasFrozen = path !== undefined && wereFrozen.has(path);
  if (group === "frozen") return !wasFrozen;
  if (group === "master") return wasFrozen;
  return group === "optimizer" && (wasFrozen || isGrouped);
}

/** Whether the run may leave out an entry of the file. */
function mayEnd({ wanted, frozen, isGrouped }: Mismatch, name: string, { group, path }: Slot): boolean {
  if (isOptionalSlot(group)) return true;
  if (group === "frozen") return path !== undefined && !wanted.has(name);
  const isFrozen = path !== undefined && frozen.has(path);
  if (group === "master") return isFrozen;
  return group === "optimizer" && (isFrozen || isGrouped);
}
