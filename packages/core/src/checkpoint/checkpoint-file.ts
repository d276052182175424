import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { bytesPerElement, type DType, type HostArrays, hostArrayOf } from "../dtype.js";
import { MpError } from "../errors.js";
import type { HostTensor } from "../host-tensor.js";
import { headerLength, LENGTH_BYTES, parseHeader, type SafetensorsEntry } from "../safetensors/header.js";
import type { SafetensorsLimits } from "../safetensors/limits.js";
import { quote } from "../safetensors/problem.js";
import { dataOf, headerOf, inWritingOrder, piecesOf } from "../safetensors/serialize.js";
import { tensorFromFile } from "../safetensors/tensor-bytes.js";
import { type WriteOptions, writeFileAtomically } from "./atomic-file.js";
import { checkPath } from "./check-path.js";
import { checkNoHash, expectedHash, FileHash, hashEntry, withoutHash } from "./file-hash.js";
import { ioError } from "./io-error.js";
import { readFully } from "./read-fully.js";

/** A checkpoint's content. Both records have no prototype, so a tensor may be called `__proto__`. */
export interface LoadedTensors {
  readonly tensors: Readonly<Record<string, HostTensor>>;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface LoadOptions {
  /** The promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  readonly limits?: SafetensorsLimits;
}

/**
 * Writes tensors as a safetensors file, atomically (see `writeFileAtomically`): a reader finds the old file or the new
 * one, even if this process dies. The tensors are not copied and must not change before the promise settles. The
 * metadata get one additional entry, `mp.sha256`: a hash of everything else, which `loadTensors` checks.
 * @throws MP_INVALID_ARGUMENT for an invalid path, for metadata that already have this entry, and for tensors or names
 * that the format cannot store; nothing is written then
 * @throws MP_IO naming the path, the errno and what would help
 */
export async function saveTensors(
  path: string,
  tensors: Readonly<Record<string, HostTensor>>,
  metadata: Readonly<Record<string, string>> = {},
  options: WriteOptions = {},
): Promise<void> {
  checkPath("saveTensors", path);
  const pieces = piecesOf(Object.entries(tensors));
  const data = dataOf(pieces);
  const entries = Object.entries(metadata);
  const header = headerOf(pieces, entries);
  checkNoHash(entries);
  const hash = new FileHash();
  for (const chunk of [header, ...data]) await hash.updateInTurns(chunk, options.signal);
  await writeFileAtomically(path, [headerOf(pieces, [...entries, hashEntry(hash)]), ...data], options);
}

/**
 * Reads a whole safetensors file. Nothing is returned unless all of it is valid, and no tensor is allocated before the
 * header matches the file's size. Files above 2 GiB are supported. If the metadata have a hash from `saveTensors`, the
 * content must match it, and the entry is removed from the returned metadata; files without a hash load too.
 * @throws MP_IO for a file that is missing, is not a file, or cannot be read
 * @throws MP_PARSE for a file that is truncated, of another format, malformed or damaged, MP_UNSUPPORTED for a dtype
 * that the SDK lacks
 * @throws MP_OUT_OF_MEMORY for a tensor that does not fit
 */
export async function loadTensors(path: string, options: LoadOptions = {}): Promise<LoadedTensors> {
  checkPath("loadTensors", path);
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
    throw located(ioError(error, "reading", path), path);
  }
}

/** Adds the path, which the parser does not know: a user may have many checkpoints. */
function located(error: unknown, path: string): unknown {
  if (!MpError.is(error) || "path" in error.details) return error;
  return new MpError(error.code, `${error.message}, in ${path}`, {
    cause: error,
    details: { ...error.details, path },
  });
}

async function loadFrom(handle: FileHandle, path: string, options: LoadOptions): Promise<LoadedTensors> {
  const { signal, limits } = options;
  const status = await handle.stat();
  if (!status.isFile()) {
    throw new MpError("MP_IO", `reading ${path} failed: it is not a regular file`, { details: { path } });
  }
  const prefix = new Uint8Array(Math.min(status.size, LENGTH_BYTES));
  await readFully(handle, prefix.buffer, 0, signal);
  const headerBytes = new Uint8Array(LENGTH_BYTES + headerLength(prefix, status.size, limits));
  await readFully(handle, headerBytes.buffer, 0, signal);
  const header = parseHeader(headerBytes, status.size, limits);
  const expected = expectedHash(header.metadata);
  const entries = inWritingOrder(header.tensors);
  const written = withoutHash(header.metadata);
  const hash = expected === undefined ? undefined : new FileHash();
  hash?.update(headerOf(entries, written));
  const tensors: Record<string, HostTensor> = Object.create(null);
  for (const [name, entry] of entries) {
    const data = allocate(name, entry);
    await readFully(handle, data.buffer, entry.begin, signal, hash && ((piece) => hash.update(piece)));
    tensors[name] = tensorFromFile(name, entry.dtype, entry.shape, data);
  }
  if (expected !== undefined) hash?.expect(expected);
  const metadata: Record<string, string> = Object.create(null);
  for (const [key, value] of written) metadata[key] = value;
  return { tensors, metadata };
}

function allocate(name: string, { dtype, begin, end }: SafetensorsEntry): HostArrays[DType] {
  const bytes = end - begin;
  const elements = bytes / bytesPerElement[dtype];
  try {
    return new hostArrayOf[dtype](elements);
  } catch (cause) {
    throw new MpError(
      "MP_OUT_OF_MEMORY",
      `tensor ${quote(name)} of ${elements} elements takes ${bytes} bytes, more than can be allocated at once`,
      { cause, details: { tensor: name, bytes } },
    );
  }
}
