import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { bytesPerElement } from "../dtype.js";
import { MpError } from "../errors.js";
import type { HostTensor } from "../host-tensor.js";
import { headerLength, LENGTH_BYTES, parseHeader, type SafetensorsEntry } from "../safetensors/header.js";
import type { SafetensorsLimits } from "../safetensors/limits.js";
import { refuse } from "../safetensors/problem.js";
import { serializeToChunks } from "../safetensors/serialize.js";
import { tensorOnBuffer } from "../safetensors/tensor-bytes.js";
import { type WriteOptions, writeFileAtomically } from "./atomic-file.js";
import { ioError } from "./io-error.js";

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

/** One system call reads less than 2 GiB. */
const READ_BYTES = 2 ** 30;

/**
 * Writes tensors as a safetensors file, atomically (see `writeFileAtomically`): a reader finds the old file or the
 * new one, whenever this process dies. The tensors are not copied and must not change before the promise settles.
 * @throws MP_INVALID_ARGUMENT for tensors or names that the format cannot hold, before anything is written
 * @throws MP_IO naming the path, the errno and what would help
 */
export async function saveTensors(
  path: string,
  tensors: Readonly<Record<string, HostTensor>>,
  metadata: Readonly<Record<string, string>> = {},
  options: WriteOptions = {},
): Promise<void> {
  const chunks = serializeToChunks(Object.entries(tensors), Object.entries(metadata));
  await writeFileAtomically(path, chunks, options);
}

/**
 * Reads a safetensors file whole. Nothing is returned unless all of it is valid, and no tensor is allocated before
 * the header agrees with the file's size. Files above 2 GiB are fine.
 * @throws MP_IO for a file that is missing, is none, or cannot be read
 * @throws MP_PARSE for a file that is cut short, foreign or malformed, MP_UNSUPPORTED for a dtype that the SDK lacks
 * @throws MP_OUT_OF_MEMORY for a tensor that does not fit
 */
export async function loadTensors(path: string, options: LoadOptions = {}): Promise<LoadedTensors> {
  // Without O_NONBLOCK, opening a named pipe waits for a writer, for ever.
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

/** The parser knows no path; a user with ten checkpoints needs it. */
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
  const tensors: Record<string, HostTensor> = Object.create(null);
  for (const [name, entry] of header.tensors) {
    const buffer = allocate(name, entry);
    await readFully(handle, buffer, entry.begin, signal);
    tensors[name] = tensorOnBuffer(name, entry.dtype, entry.shape, buffer);
  }
  const metadata: Record<string, string> = Object.create(null);
  for (const [key, value] of header.metadata) metadata[key] = value;
  return { tensors, metadata };
}

function allocate(name: string, { dtype, begin, end }: SafetensorsEntry): ArrayBuffer {
  try {
    return new ArrayBuffer(end - begin);
  } catch (cause) {
    const elements = (end - begin) / bytesPerElement[dtype];
    throw new MpError(
      "MP_OUT_OF_MEMORY",
      `tensor ${JSON.stringify(name)}, ${elements} × ${dtype}, takes ${end - begin} bytes, which cannot be allocated`,
      { cause, details: { tensor: name, bytes: end - begin } },
    );
  }
}

async function readFully(
  handle: FileHandle,
  buffer: ArrayBuffer,
  position: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let offset = 0; offset < buffer.byteLength; ) {
    signal?.throwIfAborted();
    const piece = new Uint8Array(buffer, offset, Math.min(buffer.byteLength - offset, READ_BYTES));
    const { bytesRead } = await handle.read(piece, 0, piece.length, position + offset);
    if (bytesRead === 0) {
      refuse("data-missing", `the file shrank to ${position + offset} bytes while it was read`, {
        fileLength: position + offset,
      });
    }
    offset += bytesRead;
  }
}
