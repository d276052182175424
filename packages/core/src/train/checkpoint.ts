import type { State } from "../backend.js";
import { MpError } from "../errors.js";
import { formatType } from "../graph/builder.js";
import type { HostTensor } from "../host-tensor.js";

/** Bumped when a file of the older kind could be misread. */
const FORMAT = "mp.training/1";

/** JSON values: a data cursor must survive a checkpoint. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export interface CheckpointInfo {
  /** Names the run's streams of randomness; a resumed run must have the same. */
  readonly key: string;
  readonly precision: string;
  readonly optimizer: string;
}

/** Slots of the run itself; a half-gathered window is never saved. */
export const isSavedSlot = (slot: string): boolean => !slot.startsWith("window/");

/** Writes state, counters and cursor as one safetensors file, atomically. @throws MP_IO; the old file then still stands */
export async function saveCheckpoint(
  path: string,
  state: State,
  info: CheckpointInfo,
  cursor: Json,
): Promise<void> {
  const { saveTensors } = await import("../checkpoint/index.js");
  const tensors = await state.read(Object.keys(state.types).filter(isSavedSlot));
  await saveTensors(path, tensors, { format: FORMAT, ...info, cursor: JSON.stringify(cursor) });
}

/**
 * Reads a checkpoint whole, checks it against the state, then replaces the state.
 * @returns the cursor that was saved with it
 * @throws MP_IO, MP_PARSE, MP_CHECKPOINT_MISMATCH; nothing is loaded then
 */
export async function loadCheckpoint(path: string, state: State, info: CheckpointInfo): Promise<Json> {
  const { loadTensors } = await import("../checkpoint/index.js");
  const { tensors, metadata } = await loadTensors(path);
  const refuse = (message: string): never => {
    throw new MpError("MP_CHECKPOINT_MISMATCH", `${path}: ${message}; nothing was loaded`, {
      details: { path },
    });
  };
  if (metadata["format"] !== FORMAT) {
    refuse(
      `is no training checkpoint of this version, its format is ${metadata["format"] ?? "not given"} instead of ${FORMAT}`,
    );
  }
  if (metadata["key"] !== info.key) refuse(`was made with seed ${metadata["key"]}, this run has ${info.key}`);
  const differences = compare(state, tensors);
  if (differences.length > 0) {
    const shown = differences.slice(0, 5).join("; ");
    const made = `made with ${metadata["precision"]} and ${metadata["optimizer"]}, this run has ${info.precision} and ${info.optimizer}`;
    refuse(
      `does not fit (${made}): ${shown}${differences.length > 5 ? `; and ${differences.length - 5} more` : ""}`,
    );
  }
  const cursor = parseCursor(metadata["cursor"], refuse);
  await state.write(tensors);
  return cursor;
}

function compare(state: State, tensors: Readonly<Record<string, HostTensor>>): readonly string[] {
  const differences: string[] = [];
  for (const [slot, type] of Object.entries(state.types).filter(([name]) => isSavedSlot(name))) {
    const tensor = Object.hasOwn(tensors, slot) ? tensors[slot] : undefined;
    if (tensor === undefined) differences.push(`${slot} is missing`);
    else if (formatType(tensor) !== formatType(type)) {
      differences.push(`${slot} is ${formatType(tensor)} instead of ${formatType(type)}`);
    }
  }
  for (const slot of Object.keys(tensors)) {
    if (!Object.hasOwn(state.types, slot)) differences.push(`${slot} is unknown here`);
  }
  return differences;
}

function parseCursor(text: string | undefined, refuse: (message: string) => never): Json {
  try {
    return JSON.parse(text ?? "null") as Json;
  } catch {
    return refuse("its cursor is not JSON");
  }
}
