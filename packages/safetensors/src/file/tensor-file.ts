import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { SafetensorsError } from "../errors.js";
import { checkNoHash, FileHash, hashEntry, splitHash } from "../file-hash.js";
import type { SafetensorsLimits } from "../limits.js";
import {
  headerLength,
  LENGTH_BYTES,
  parseHeader,
  type SafetensorsEntry,
  type SafetensorsHeader,
} from "../parse-header.js";
import { quote, refuseArgument } from "../problem.js";
import { checkTensors, encodeHeader, inWritingOrder, nonEmptyData } from "../serialize.js";
import { type LoadedTensors, type SafetensorsTensor, toRecord, type WritableTensor } from "../tensor.js";
import { checkBools } from "../typed-arrays.js";
import { type WriteOptions, writeFileAtomically } from "./atomic-file.js";
import { mergeSmallChunks } from "./blocks.js";
import { FileWindow } from "./file-window.js";
import { ioError } from "./io-error.js";
import { readFully, SLICE_BYTES } from "./read-fully.js";

export interface LoadOptions {
  /** Aborts; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Limits above which a file is refused. */
  readonly limits?: SafetensorsLimits;
}

/**
 * Writes tensors as a safetensors file, atomically (see `writeFileAtomically`): a reader finds the old file or the new
 * one, even if this process dies. The tensors are not copied and must not change before the promise settles. The
 * metadata get one more entry, `mp.sha256`: a hash of everything else, which `loadFile` and `load` check.
 * @throws SAFETENSORS_INVALID_ARGUMENT, before anything is written, for an invalid path, for metadata with this entry,
 * and for tensors or names that the format cannot store
 * @throws SAFETENSORS_IO naming the path, the errno and what would help
 */
export async function saveFile(
  path: string,
  tensors: Readonly<Record<string, WritableTensor>>,
  metadata: Readonly<Record<string, string>> = {},
  options: WriteOptions = {},
): Promise<void> {
  checkPath("saveFile", path);
  const pieces = checkTensors(Object.entries(tensors));
  const data = nonEmptyData(pieces);
  const entries = Object.entries(metadata);
  const header = encodeHeader(pieces, entries);
  checkNoHash(entries);
  const hash = await hashInTurns([header, ...data], options.signal);
  await writeFileAtomically(path, [encodeHeader(pieces, [...entries, hashEntry(hash)]), ...data], options);
}

/** Hashes without blocking the event loop for long. Rejects with the signal's reason once it is aborted. */
async function hashInTurns(
  chunks: readonly Uint8Array[],
  signal: AbortSignal | undefined,
): Promise<FileHash> {
  const hash = new FileHash();
  let inThisTurn = 0;
  for (const chunk of mergeSmallChunks(chunks)) {
    for (let offset = 0; offset < chunk.length; offset += SLICE_BYTES) {
      signal?.throwIfAborted();
      const slice = chunk.subarray(offset, offset + SLICE_BYTES);
      hash.update(slice);
      inThisTurn += slice.length;
      if (inThisTurn < SLICE_BYTES) continue;
      inThisTurn = 0;
      await setImmediate();
    }
  }
  return hash;
}

/**
 * Reads a whole safetensors file, also one above 2 GiB, each tensor into its own memory. Returns only if all of it is
 * valid, and allocates no tensor before the header matches the file's size. If the metadata have a hash from `saveFile`
 * or `save`, the content must match it, and the returned metadata lack the entry. Files without a hash are accepted.
 * @throws SAFETENSORS_INVALID_ARGUMENT for an invalid path
 * @throws SAFETENSORS_IO for a file that is missing, is not a file, or cannot be read
 * @throws SAFETENSORS_PARSE for a file that is truncated, of another format, malformed or damaged
 * @throws SAFETENSORS_OUT_OF_MEMORY for a tensor that does not fit
 */
export async function loadFile(path: string, options: LoadOptions = {}): Promise<LoadedTensors> {
  checkPath("loadFile", path);
  // Without O_NONBLOCK, opening a named pipe waits for a writer, possibly forever.
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
  try {
    const handle = await open(path, flags);
    try {
      return await loadFrom(handle, path, options);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw withPath(ioError(error, "reading", path), path);
  }
}

/** @throws SAFETENSORS_INVALID_ARGUMENT for a value that cannot be a path, for which Node's error has no errno */
function checkPath(what: string, path: unknown): void {
  if (typeof path === "string" && path !== "" && !path.includes("\0")) return;
  // A message with all elements of a typed array could be of any length.
  const kind = typeof path === "object" && path !== null ? (path.constructor?.name ?? "an object") : path;
  const got = typeof path === "string" ? JSON.stringify(path) : String(kind);
  refuseArgument(`${what}: takes the path of a file, got ${got}`);
}

/** Adds the path, which the parser does not know, to an error. */
function withPath(error: unknown, path: string): unknown {
  if (!SafetensorsError.is(error) || "path" in error.details) return error;
  return new SafetensorsError(error.code, `${error.message}, in ${path}`, {
    cause: error,
    details: { ...error.details, path },
  });
}

async function loadFrom(handle: FileHandle, path: string, options: LoadOptions): Promise<LoadedTensors> {
  const { signal, limits } = options;
  const status = await handle.stat();
  if (!status.isFile()) {
    throw new SafetensorsError("SAFETENSORS_IO", `reading ${path} failed: it is not a regular file`, {
      details: { path },
    });
  }
  const prefix = new Uint8Array(Math.min(status.size, LENGTH_BYTES));
  await readFully(handle, prefix.buffer, 0, signal);
  const headerBytes = new Uint8Array(LENGTH_BYTES + headerLength(prefix, status.size, limits));
  await readFully(handle, headerBytes.buffer, 0, signal);
  const header = parseHeader(headerBytes, status.size, limits);
  const { expected, others } = splitHash(header.metadata);
  const read = await readTensors(new FileWindow(handle, status.size, signal), header.tensors);
  const tensors = inWritingOrder(read);
  if (expected !== undefined) {
    const hash = await hashInTurns([encodeHeader(tensors, others), ...nonEmptyData(tensors)], signal);
    hash.expect(expected);
  }
  return { tensors: toRecord(tensors), metadata: toRecord(others) };
}

/** Reads tensors in the order of the file, so that neighbors share reads. */
async function readTensors(
  file: FileWindow,
  entries: SafetensorsHeader["tensors"],
): Promise<ReadonlyMap<string, SafetensorsTensor>> {
  const tensors = new Map<string, SafetensorsTensor>();
  for (const [name, entry] of [...entries].sort(([, a], [, b]) => a.begin - b.begin)) {
    const data = allocate(name, entry);
    const reading = file.read(data, entry.begin);
    if (reading !== undefined) await reading;
    checkBools(name, entry.dtype, data);
    tensors.set(name, { dtype: entry.dtype, shape: entry.shape, data });
  }
  return tensors;
}

function allocate(name: string, { shape, begin, end }: SafetensorsEntry): Uint8Array<ArrayBuffer> {
  const bytes = end - begin;
  try {
    return new Uint8Array(bytes);
  } catch (cause) {
    const elements = shape.reduce((product, n) => product * n, 1);
    throw new SafetensorsError(
      "SAFETENSORS_OUT_OF_MEMORY",
      `tensor ${quote(name)} of ${elements} elements takes ${bytes} bytes, more than can be allocated at once`,
      { cause, details: { tensor: name, bytes } },
    );
  }
}
