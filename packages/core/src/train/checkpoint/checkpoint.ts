import { type Backend, formatType, type HostTensor, type State } from "@mp/graph";
import { isPlainObject } from "@mp/graph/internal";
import type { LoadedTensors } from "../../checkpoint/format-tensors.js";
import { namesBeside, withoutNames } from "../../quantize/recipe-difference.js";
import { type SavedStates, statesEntry } from "../callbacks/callback-states.js";
import { checkJson, type Json } from "../callbacks/json.js";
import type { StepDefinition } from "../definition/definition.js";
import type { RankPlace } from "../definition/rank-place.js";
import { findSlotGroup, isOptionalSlot, type SlotGroupName, slotGroupName } from "../definition/state.js";
import type { TrainingWarning } from "../definition/warning.js";
import type { GivenTypes } from "../objective/initial-state.js";
import { emptyWindowSlots } from "../objective/window-reduction.js";
import { DAMAGED, FORMAT, listMisfits, OPTIONAL_FORMAT, openCheckpoint } from "./file/open-checkpoint.js";
import type { CheckpointSource } from "./file/place.js";
import { listSettings, printSettings, type Setting } from "./file/settings.js";
import { convertStates } from "./refit/converted-states.js";
import { refitState, slotReader } from "./refit/refitted-state.js";
import type { ScalerRules } from "./scaler-rules.js";
import { valueProblems } from "./value-problems.js";

export interface CheckpointInfo {
  /** The random key that the run draws from; a resumed run must have the same one. */
  readonly key: string;
  /** Name of the precision for people who read the file; `settings` has its parts. */
  readonly precision: string;
  readonly settings: readonly Setting[];
  readonly objectives: readonly StepDefinition[];
  /** The entry of the master weights' state that holds the weights; undefined if the whole state does. */
  readonly weightsAt: string | undefined;
  readonly place: RankPlace;
  /** Types of the parameters and model state that the trainer was given; a new run's state is made from these types. */
  readonly given: GivenTypes;
}

export function checkpointInfo(
  definitions: readonly [StepDefinition, ...StepDefinition[]],
  given: GivenTypes,
  place: RankPlace,
): CheckpointInfo {
  const [{ key, precision }] = definitions;
  return {
    key: key.path,
    precision: precision.name,
    settings: listSettings(definitions),
    objectives: definitions,
    weightsAt: precision.masterWeights.weightsAt,
    given,
    place,
  };
}

export interface SaveOptions {
  /** The position in the data; default the one that `fit` or `steps` have reached. */
  readonly cursor?: Json;
}

/** The part of a run's position that is not in its state on the engine. */
export interface RunPosition {
  readonly cursor: Json;
  readonly callbacks: SavedStates;
}

/**
 * Reads the state as the contents of a checkpoint; the tensors may share the engine's memory.
 * @throws MP_INVALID_ARGUMENT beginning with `what` for a cursor that is not JSON
 */
export async function readCheckpoint(
  state: State,
  info: CheckpointInfo,
  position: RunPosition,
  what: string,
): Promise<LoadedTensors> {
  const { tensors, metadata } = await readPart(state, position, what, (slot) => findSlotGroup(slot).isSaved);
  const format = Object.keys(tensors).some(isOptionalSlot) ? OPTIONAL_FORMAT : FORMAT;
  return { tensors, metadata: { format, ...writeMetadata(info), ...metadata } };
}

/** The part of a checkpoint that each rank contributes: model state and position. @throws as `readCheckpoint` */
export const readRankPart = (state: State, position: RunPosition, what: string): Promise<LoadedTensors> =>
  readPart(state, position, what, (slot) => slotGroupName(slot) === "model");

async function readPart(
  state: State,
  { cursor, callbacks }: RunPosition,
  what: string,
  isPart: (slot: string) => boolean,
): Promise<LoadedTensors> {
  checkJson(cursor, what);
  return {
    tensors: await state.read(Object.keys(state.types).filter(isPart)),
    metadata: { cursor: JSON.stringify(cursor), ...statesEntry(callbacks) },
  };
}

/**
 * Reads a checkpoint whole, checks it against the state, then replaces the state and returns the position. Warns about
 * settings that differ from this run's although the state fits. Only the checks may fail. `all` runs them, so that with
 * several processes no process continues before the checks have passed in every process. With `groups`, replaces only
 * the slots of these groups.
 * @throws MP_IO, MP_PARSE, MP_CHECKPOINT_MISMATCH; nothing is loaded then
 */
export async function loadCheckpoint(
  source: CheckpointSource,
  { backend, state }: { readonly backend: Backend; readonly state: State },
  info: CheckpointInfo,
  scaler: ScalerRules,
  warn: (warning: TrainingWarning) => void,
  how: {
    readonly all: <T>(check: () => Promise<T>) => Promise<T>;
    readonly groups: readonly SlotGroupName[] | undefined;
  },
): Promise<RunPosition> {
  const checked = await how.all(() => checkCheckpoint(source, { backend, state }, info, scaler));
  const { tensors, metadata, notes, position } = checked;
  const loaded = Object.entries({ ...tensors, ...emptyWindowSlots(state, tensors) }).filter(
    ([slot]) => how.groups?.includes(slotGroupName(slot)) ?? true,
  );
  await state.write(Object.fromEntries(loaded));
  for (const note of notes) warn({ type: "checkpoint", message: `${source.name}: ${note}` });
  const other = differences(info.settings, metadata);
  if (other.length > 0) {
    warn({
      type: "checkpoint",
      message: `${source.name}: goes on under other settings, ${other.join("; ")}`,
    });
  }
  return position;
}

interface Checked extends LoadedTensors {
  /** The changes that made the checkpoint fit, as text. */
  readonly notes: readonly string[];
  readonly position: RunPosition;
}

async function checkCheckpoint(
  source: CheckpointSource,
  { backend, state }: { readonly backend: Backend; readonly state: State },
  info: CheckpointInfo,
  scaler: ScalerRules,
): Promise<Checked> {
  const file = await openCheckpoint(source, info.place);
  const { metadata, refuse } = file;
  if (metadata["key"] !== info.key) {
    refuse(`was made with seed ${metadata["key"]}, this run has ${info.key}`);
  }
  const slotOf = slotReader(info.objectives, info.given);
  const converted = await convertStates(state.types, file.tensors, slotOf, backend);
  const opened = converted === undefined ? file : { ...file, tensors: converted };
  const misfits = compare(state, opened.tensors);
  const fitted = misfits.length === 0 ? undefined : await refitState(opened, state, { ...info, backend });
  if (misfits.length > 0 && fitted === undefined) {
    const other = differences(decisive(info), metadata);
    const settings = other.length === 0 ? "" : `; this run has ${other.join("; ")}`;
    refuse(`does not fit: ${listMisfits(misfits)}${settings}; loadParameters takes its parameters alone`);
  }
  const tensors = fitted?.tensors ?? opened.tensors;
  // Checks the file's values and the converted ones, because a conversion may hide a bad value of the file, and a
  // frozen infinity may be trained from now on.
  for (const held of new Set([file.tensors, tensors])) {
    const problems = valueProblems(held, info.objectives, scaler.bounds, slotOf);
    if (problems.length > 0) refuse(`${listMisfits(problems)}; ${DAMAGED}`);
  }
  const fault = await scaler.faultOf(tensors);
  if (fault !== undefined) refuse(fault);
  const cursor = parseJson(metadata["cursor"] ?? "null", "its cursor", refuse);
  const callbacks = parseJson(metadata["callbacks"] ?? "{}", "the state of its callbacks", refuse);
  if (!isPlainObject(callbacks)) refuse("the state of its callbacks is no JSON object");
  const stored =
    converted && "converts the optimizer's state to the formats of this run, to which its values are rounded";
  const notes = [stored, fitted?.note, opened.note].filter((note) => note !== undefined);
  return { tensors, metadata, notes, position: { cursor, callbacks: callbacks as SavedStates } };
}

function writeMetadata(info: CheckpointInfo): LoadedTensors["metadata"] {
  const { key, precision, settings, weightsAt } = info;
  return { key, precision, ...printSettings(settings), ...(weightsAt === undefined ? {} : { weightsAt }) };
}

/** The settings that determine the structure of the state. */
function decisive({ precision, settings }: CheckpointInfo): readonly Setting[] {
  return [
    { name: "precision", text: precision, shapesState: true },
    ...settings.filter(({ shapesState }) => shapesState),
  ];
}

function differences(own: readonly Setting[], saved: Readonly<Record<string, string>>): readonly string[] {
  return own.flatMap(({ name, text }) => {
    const before = saved[name] ?? "";
    if (withoutNames(before) === withoutNames(text)) return [];
    const [now, other] = [namesBeside(text, before), namesBeside(before, text)];
    return `${name} ${now || "none"} instead of ${other || "one that the file does not name"}`;
  });
}

function compare(state: State, tensors: Readonly<Record<string, HostTensor>>): readonly string[] {
  const misfits: string[] = [];
  for (const [slot, type] of Object.entries(state.types)) {
    if (!findSlotGroup(slot).isSaved) continue;
    const tensor = Object.hasOwn(tensors, slot) ? tensors[slot] : undefined;
    if (tensor === undefined) misfits.push(`${slot} is missing`);
    else if (formatType(tensor) !== formatType(type)) {
      misfits.push(`${slot} is ${formatType(tensor)} instead of ${formatType(type)}`);
    }
  }
  for (const slot of Object.keys(tensors)) {
    if (!Object.hasOwn(state.types, slot)) misfits.push(`${slot} is unknown here`);
    // A window in a file would be incomplete: its gradients must not leak into the next step.
    else if (!findSlotGroup(slot).isSaved) misfits.push(`${slot} is no part of a checkpoint`);
  }
  return misfits;
}

function parseJson(text: string, what: string, refuse: (message: string) => never): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return refuse(`${what} is not JSON`);
  }
}
