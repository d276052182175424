import type { State } from "../../backend.js";
import type { LoadedTensors } from "../../checkpoint/format-tensors.js";
import { MpError } from "../../errors.js";
import { formatType } from "../../graph/format-type.js";
import type { HostTensor } from "../../host-tensor.js";
import { checkJson, type Json } from "../data/json.js";
import type { Placed } from "../objectives/objective-state.js";
import { slotGroupOf } from "../state.js";
import { emptyWindowSlots } from "../step/window.js";
import type { TrainingWarning } from "../warning.js";
import type { CheckpointSource } from "./place.js";
import { valueProblems } from "./restored-state.js";
import type { ScalerRules } from "./scaler-rules.js";
import { OBJECTIVES, type Settings } from "./settings.js";

/** Incremented when a file of the old format could be misread. */
const FORMAT = "mp.training/1";

export interface CheckpointInfo {
  /** Names the run's streams of randomness; a resumed run must have the same. */
  readonly key: string;
  /** For people who read the file; the settings have its parts. */
  readonly precision: string;
  readonly settings: Settings;
  readonly objectives: readonly Placed[];
  /** The entry of the master weights' state that holds the weights, if not the whole. */
  readonly weightsAt: string | undefined;
}

export interface SaveOptions {
  /** The position in the data; default the one that `fit` or `steps` led to. */
  readonly cursor?: Json;
}

/**
 * What a checkpoint of the state holds; its tensors may be the engine's own.
 * @throws MP_INVALID_ARGUMENT beginning with `what` for a cursor that is not JSON
 */
export async function checkpointOf(
  state: State,
  info: CheckpointInfo,
  cursor: Json,
  what: string,
): Promise<LoadedTensors> {
  checkJson(cursor, what);
  const slots = Object.keys(state.types).filter((slot) => slotGroupOf(slot).isSaved);
  return {
    tensors: await state.read(slots),
    metadata: { format: FORMAT, ...metadataOf(info), cursor: JSON.stringify(cursor) },
  };
}

/** A checkpoint's content, and the error for a problem with it. */
export interface OpenCheckpoint extends LoadedTensors {
  refuse(message: string): never;
}

/** @throws MP_IO, MP_PARSE; MP_CHECKPOINT_MISMATCH for what is no checkpoint of a training run */
export async function openCheckpoint({ name, details, read }: CheckpointSource): Promise<OpenCheckpoint> {
  const { tensors, metadata } = await read();
  const refuse = (message: string): never => {
    throw new MpError("MP_CHECKPOINT_MISMATCH", `${name}: ${message}; nothing was loaded`, { details });
  };
  if (metadata["format"] !== FORMAT) {
    refuse(
      `is no training checkpoint of this version, its format is ${metadata["format"] ?? "not given"} instead of ${FORMAT}`,
    );
  }
  return { tensors, metadata, refuse };
}

/** End of messages about values that no run writes. */
export const DAMAGED = "such a run is damaged, load an earlier checkpoint";

/** The first few misfits, and how many more. */
export function listed(misfits: readonly string[]): string {
  const more = misfits.length > 5 ? `; and ${misfits.length - 5} more` : "";
  return `${misfits.slice(0, 5).join("; ")}${more}`;
}

/**
 * Reads a checkpoint whole, checks it against the state, then replaces the state. Warns about settings of the
 * checkpoint that differ from this run's, although the state fits. Returns the cursor.
 * @throws MP_IO, MP_PARSE, MP_CHECKPOINT_MISMATCH; nothing is loaded then
 */
export async function loadCheckpoint(
  source: CheckpointSource,
  state: State,
  info: CheckpointInfo,
  scaler: ScalerRules,
  warn: (warning: TrainingWarning) => void,
): Promise<Json> {
  const { tensors, metadata, refuse } = await openCheckpoint(source);
  if (metadata["key"] !== info.key) {
    refuse(`was made with seed ${metadata["key"]}, this run has ${info.key}`);
  }
  const made = `made with ${describe(metadata)}, this run has ${describe(metadataOf(info))}`;
  const misfits = compare(state, tensors);
  if (misfits.length > 0) {
    refuse(`does not fit (${made}): ${listed(misfits)}; loadParameters takes its parameters alone`);
  }
  const problems = valueProblems(tensors, info.objectives, scaler.bounds);
  if (problems.length > 0) refuse(`${listed(problems)}; ${DAMAGED}`);
  const fault = await scaler.faultOf(tensors);
  if (fault !== undefined) refuse(fault);
  const cursor = parseCursor(metadata["cursor"], refuse);
  await state.write({ ...tensors, ...emptyWindowSlots(state, tensors) });
  const differences = Object.entries(info.settings)
    .filter(([name, own]) => metadata[name] !== own)
    .map(([name, own]) => `${name} ${own} instead of ${metadata[name] ?? "one that the file does not name"}`);
  if (differences.length > 0) {
    warn({
      type: "checkpoint",
      message: `${source.name}: goes on under other settings, ${differences.join("; ")}`,
    });
  }
  return cursor;
}

function metadataOf(info: CheckpointInfo): Settings {
  const { key, precision, settings, weightsAt } = info;
  return { key, precision, ...settings, ...(weightsAt === undefined ? {} : { weightsAt }) };
}

function describe(of: Settings): string {
  const { precision, masterWeights, lossScaler, optimizer, [OBJECTIVES]: objectives } = of;
  const rest =
    objectives === undefined ? `loss scaler ${lossScaler} and ${optimizer}` : `objectives ${objectives}`;
  return `${precision}, master weights ${masterWeights}, ${rest}`;
}

function compare(state: State, tensors: Readonly<Record<string, HostTensor>>): readonly string[] {
  const misfits: string[] = [];
  for (const [slot, type] of Object.entries(state.types)) {
    if (!slotGroupOf(slot).isSaved) continue;
    const tensor = Object.hasOwn(tensors, slot) ? tensors[slot] : undefined;
    if (tensor === undefined) misfits.push(`${slot} is missing`);
    else if (formatType(tensor) !== formatType(type)) {
      misfits.push(`${slot} is ${formatType(tensor)} instead of ${formatType(type)}`);
    }
  }
  for (const slot of Object.keys(tensors)) {
    if (!Object.hasOwn(state.types, slot)) misfits.push(`${slot} is unknown here`);
    // A window in a file would be incomplete: its gradients must not leak into the next step.
    else if (!slotGroupOf(slot).isSaved) misfits.push(`${slot} is no part of a checkpoint`);
  }
  return misfits;
}

function parseCursor(text: string | undefined, refuse: (message: string) => never): Json {
  try {
    return JSON.parse(text ?? "null") as Json;
  } catch {
    return refuse("its cursor is not JSON");
  }
}
