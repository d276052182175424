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
  /** Undefined if nothing exists there yet, as for the target of a dangling link. */
  readonly mode?: number;
}

/** The file system that an atomic write uses; tests use it to inject failures and power cuts. */
export interface FileSystem {
  /** Fails when the file exists. */
  create(path: string): Promise<WritableFile>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  list(directory: string): Promise<readonly string[]>;
  /** Makes renames in the directory durable. */
  syncDirectory(directory: string): Promise<void>;
  /** Follows links, even to a missing target. Undefined if nothing is at the path. Fails for devices and pipes. */
  locate(path: string): Promise<Located | undefined>;
}

/** The errno of a failed system call, such as `ENOENT`; undefined for other errors. */
export function errorNumber(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}

/** Error codes of systems that cannot sync directories (Windows, some network mounts); they are ignored. */
const directoriesDoNotSync = new Set(["EISDIR", "EPERM", "EINVAL", "ENOTSUP", "EOPNOTSUPP", "EBADF"]);

export const nodeFileSystem: FileSystem = {
  create: (path) => open(path, "wx"),
  rename,
  unlink,
  list: (directory) => readdir(directory),
  async syncDirectory(directory) {
    try {
      const handle = await open(directory, "r");
      await handle.sync().finally(() => handle.close());
    } catch (error) {
      if (!directoriesDoNotSync.has(errorNumber(error) ?? "")) throw error;
    }
  },
  async locate(path) {
    try {
      const target = await realpath(path);
      const status = await stat(target);
      // Renaming onto a directory fails with this code, except onto the root, where it is EBUSY.
      if (status.isDirectory()) {
        throw Object.assign(new Error(`EISDIR: ${path} is a directory`), { code: "EISDIR" });
      }
      // A rename would replace a device with a file: /dev/null would break for every process.
      if (!status.isFile()) {
        throw new SafetensorsError("SAFETENSORS_IO", `writing ${path} failed: it is not a regular file`, {
          details: { path, committed: false },
        });
      }
      return { path: target, mode: status.mode & 0o7777 };
    } catch (error) {
      if (errorNumber(error) !== "ENOENT") throw error;
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
