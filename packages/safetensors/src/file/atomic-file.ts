// Replaces a file so that its path has the old or the new content at any time, even after a crash or power failure:
// writes a temporary file beside it, syncs it, renames it over the old file, and syncs the directory.
import { basename, dirname, join } from "node:path";
import { SafetensorsError } from "../errors.js";
import { mergeSmallChunks } from "./blocks.js";
import { type FileSystem, nodeFileSystem, type WritableFile } from "./file-system.js";
import { ioError } from "./io-error.js";
import { isStale, temporaryName } from "./temporary-name.js";

export interface WriteOptions {
  /** Aborting before the rename leaves the old file; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Bytes between checks for an abort; one system call writes less than 2 GiB. */
const WRITE_BYTES = 64 * 2 ** 20;

/**
 * Replaces the file at `path` with the concatenated chunks, or leaves it unchanged. It follows a symbolic link, even
 * if the target does not exist yet, keeps the permissions of an existing file, and removes temporary files of processes
 * that died while saving to this path. The chunks must not change before the promise settles. Of two concurrent writes to
 * a path, one wins as a whole.
 * @throws SAFETENSORS_IO with `details.errno`; `details.committed` is true when the new file is in place but its directory
 * could not be made durable, and false when the old file is untouched
 */
export function writeFileAtomically(
  path: string,
  chunks: Iterable<Uint8Array>,
  options: WriteOptions = {},
): Promise<void> {
  return writeFileAtomicallyOn(nodeFileSystem, path, chunks, options);
}

/** `writeFileAtomically` on the given file system. */
export async function writeFileAtomicallyOn(
  fileSystem: FileSystem,
  path: string,
  chunks: Iterable<Uint8Array>,
  { signal }: WriteOptions = {},
): Promise<void> {
  signal?.throwIfAborted();
  const fail = (error: unknown, committed: boolean): never => {
    throw ioError(error, "writing", path, { committed });
  };
  const existing = await fileSystem.locate(path).catch((error: unknown) => fail(error, false));
  const target = existing?.path ?? path;
  const directory = dirname(target);
  const temporary = join(directory, temporaryName(basename(target)));
  await removeStale(fileSystem, directory, basename(target));
  const file = await fileSystem.create(temporary).catch((error: unknown) => fail(error, false));
  let isOpen = true;
  try {
    if (existing?.mode !== undefined) await file.chmod(existing.mode);
    for (const block of mergeSmallChunks(chunks)) await writeAll(file, block, signal);
    await file.sync();
    isOpen = false;
    await file.close();
    signal?.throwIfAborted();
    await fileSystem.rename(temporary, target);
  } catch (error) {
    // Report the first failure; the next save removes a temporary file that remains.
    if (isOpen) await file.close().catch(() => undefined);
    await fileSystem.unlink(temporary).catch(() => undefined);
    fail(error, false);
  }
  await fileSystem.syncDirectory(directory).catch((error: unknown) => fail(error, true));
}

async function writeAll(
  file: WritableFile,
  chunk: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let offset = 0; offset < chunk.length; ) {
    signal?.throwIfAborted();
    const { bytesWritten } = await file.write(chunk.subarray(offset, offset + WRITE_BYTES));
    const problem = "writing made no progress, the file system accepts no more bytes";
    if (bytesWritten === 0) throw new SafetensorsError("SAFETENSORS_IO", problem);
    offset += bytesWritten;
  }
}

/** Ignores failures: if the directory cannot be listed, the write itself fails with a better message. */
async function removeStale(fileSystem: FileSystem, directory: string, fileName: string): Promise<void> {
  const names = await fileSystem.list(directory).catch(() => []);
  const stale = names.filter((name) => isStale(name, fileName));
  await Promise.allSettled(stale.map((name) => fileSystem.unlink(join(directory, name))));
}
