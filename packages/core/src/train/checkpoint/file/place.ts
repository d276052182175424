// Where a checkpoint is written to and read from: a file, or bytes.
import { checkPath, loadTensors, saveTensors } from "#checkpoint-files";
import { bytesOfTensors, checkBytes, tensorsOfBytes } from "../../../checkpoint/bytes.js";
import type { LoadedTensors } from "../../../checkpoint/format-tensors.js";

export type CheckpointStore<T> = (checkpoint: LoadedTensors) => Promise<T>;

export interface CheckpointSource {
  /** Begins messages about the content. */
  readonly name: string;
  /** The path, where there is one, for errors. */
  readonly details: Readonly<Record<string, unknown>>;
  read(): Promise<LoadedTensors>;
}

/** @throws MP_INVALID_ARGUMENT for what cannot be a path, MP_UNSUPPORTED without Node */
export function toFile(what: string, path: string): CheckpointStore<void> {
  checkPath(what, path);
  return ({ tensors, metadata }) => saveTensors(path, tensors, metadata);
}

/** @throws as `toFile` */
export function fromFile(what: string, path: string): CheckpointSource {
  checkPath(what, path);
  return { name: path, details: { path }, read: () => loadTensors(path) };
}

export const toBytes: CheckpointStore<Uint8Array<ArrayBuffer>> = async (checkpoint) =>
  bytesOfTensors(checkpoint);

/** @throws MP_INVALID_ARGUMENT for what is no `Uint8Array` */
export function fromBytes(what: string, bytes: Uint8Array): CheckpointSource {
  checkBytes(what, bytes);
  return { name: what, details: {}, read: async () => tensorsOfBytes(bytes) };
}
