// The targets and sources of checkpoints: a file, or bytes.

import type { Ranks } from "@mp/graph";
import { checkPath, loadTensors, saveTensors } from "#checkpoint-files";
import { bytesOfTensors, checkBytes, tensorsOfBytes } from "../../../checkpoint/bytes.js";
import type { LoadedTensors } from "../../../checkpoint/format-tensors.js";

export interface CheckpointTarget<T> {
  /** @throws MP_INVALID_ARGUMENT for a value that cannot be a path, MP_UNSUPPORTED without Node */
  check(): void;
  write(checkpoint: LoadedTensors): Promise<T>;
  /** Gives all ranks the result of rank 0's write. */
  broadcast(ranks: Ranks, written: T | undefined): Promise<T>;
}

export interface CheckpointSource {
  /** The beginning of messages about the content. */
  readonly name: string;
  /** Details for errors: the path, if there is one. */
  readonly details: Readonly<Record<string, unknown>>;
  /** @throws MP_IO, MP_PARSE; MP_INVALID_ARGUMENT for no path and no bytes, MP_UNSUPPORTED without Node */
  read(): Promise<LoadedTensors>;
}

export function toFile(what: string, path: string): CheckpointTarget<void> {
  return {
    check: () => checkPath(what, path),
    write: ({ tensors, metadata }) => saveTensors(path, tensors, metadata),
    // Only rank 0 has a file.
    broadcast: async () => undefined,
  };
}

export function fromFile(what: string, path: string): CheckpointSource {
  const read = async (): Promise<LoadedTensors> => {
    checkPath(what, path);
    return loadTensors(path);
  };
  return { name: path, details: { path }, read };
}

export const toBytes: CheckpointTarget<Uint8Array<ArrayBuffer>> = {
  check: () => undefined,
  write: async (checkpoint) => bytesOfTensors(checkpoint),
  broadcast: async (ranks, bytes) => new Uint8Array(await ranks.broadcast(bytes)),
};

export function fromBytes(what: string, bytes: Uint8Array): CheckpointSource {
  const read = async (): Promise<LoadedTensors> => {
    checkBytes(what, bytes);
    return tensorsOfBytes(bytes);
  };
  return { name: what, details: {}, read };
}
