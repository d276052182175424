import { open, readdir, readlink, realpath, rename, stat, unlink } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { SafetensorsError } from "../errors.js";

/** An open file that is being written. */
export interface WritableFile {
  /** May write fewer bytes than asked for. */
  write(bytes: Uint8Array): Promise<{ readonly bytesWritten: number }>;
  chmod(mode: number): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface Located {
  readonly path: string;
  /** Undefined if a link points there and there is no file yet. */
  readonly mode?: number;
}

/** The operations of a file system that an atomic write needs; tests inject failures and power failures here. */
export interface FileSystem {
  /** Fails when the file exists. */
  create(path: string): Promise<WritableFile>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  list(directory: string): Promise<readonly string[]>;
  /** Makes renames in the directory durable. */
  syncDirectory(directory: string): Promise<void>;
  /**
   * Follows links, even to a target that does not exist yet (no `mode` then). Undefined if nothing is at the path.
   * Fails for devices and pipes.
   */
  locate(path: string): Promise<Located | undefined>;
}

/** Errno of a failed system call, undefined for other errors. */
export function errnoOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}

/** Some systems cannot open or fsync a directory at all (Windows, a few network mounts); this is not an error. */
const directoriesDoNotSync = new Set(["EISDIR", "EPERM", "EINVAL", "ENOTSUP", "EOPNOTSUPP", "EBADF"]);

export const nodeFileSystem: FileSystem = {
  async create(path: string): Promise<WritableFile> {
    const handle = await open(path, "wx");
    return {
      write: (bytes) => handle.write(bytes),
      chmod: (mode) => handle.chmod(mode),
      sync: () => handle.sync(),
      close: () => handle.close(),
    };
  },
  rename: (from: string, to: string): Promise<void> => rename(from, to),
  unlink: (path: string): Promise<void> => unlink(path),
  list: (directory: string): Promise<readonly string[]> => readdir(directory),
  async syncDirectory(directory: string): Promise<void> {
    try {
      const handle = await open(directory, "r");
      await handle.sync().finally(() => handle.close());
    } catch (error) {
      if (!directoriesDoNotSync.has(errnoOf(error) ?? "")) throw error;
    }
  },
  async locate(path: string): Promise<Located | undefined> {
    try {
      const target = await realpath(path);
      const status = await stat(target);
      // Renaming onto a directory fails with a clear error, except for the root, where it is EBUSY.
      if (status.isDirectory()) {
        throw Object.assign(new Error(`EISDIR: ${path} is a directory`), { code: "EISDIR" });
      }
      // A rename would replace the device with a file, which would break /dev/null for every process.
      if (!status.isFile()) {
        throw new SafetensorsError("SAFETENSORS_IO", `writing ${path} failed: it is not a regular file`, {
          details: { path, committed: false },
        });
      }
      return { path: target, mode: status.mode & 0o7777 };
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw error;
      const target = await linkTarget(path);
      return target === undefined ? undefined : ((await this.locate(target)) ?? { path: target });
    }
  },
};

/** The target of a link, one step; undefined if it is not a link or does not exist. Circular links fail earlier. */
async function linkTarget(path: string): Promise<string | undefined> {
  try {
    const target = await readlink(path);
    return resolve(await realpath(dirname(path)), target);
  } catch {
    return undefined;
  }
}
