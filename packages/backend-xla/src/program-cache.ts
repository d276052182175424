import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { MpError } from "@mp/graph";
import type { Client } from "./pjrt/index.js";

/** Number of hexadecimal digits of the digest that precedes a program in its file. */
const DIGITS = 64;
const PARTIAL = ".partial";
const DAY_MS = 86_400_000;

/**
 * Compiled programs on disk. A file appears complete, by a rename, and is read only if its digest matches.
 * Files contain machine code, so only the user may be able to write to the folder.
 */
export class ProgramCache {
  readonly #folder: string;
  readonly #of: string;

  /**
   * @param client identifies the plugin and the device, on which every compiled program depends
   * @throws MP_IO for a folder that cannot be created, or that others can write
   */
  constructor(folder: string, client: Client) {
    this.#folder = resolve(folder);
    this.#of = describeEngine(client);
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      const { mode, uid } = statSync(this.#folder);
      if ((mode & 0o022) !== 0 || uid !== process.getuid?.()) throw new Error("others can write it");
    } catch (cause) {
      const message = `xla: cache must be a folder that you alone can write, got ${this.#folder}: ${String(cause)}`;
      throw new MpError("MP_IO", message, { details: { folder: this.#folder }, cause });
    }
    void this.#sweep();
  }

  /** Returns the path of a program's file. @param parts all that determines it besides plugin and device */
  fileOf(...parts: readonly string[]): string {
    const key = createHash("sha256").update(JSON.stringify([this.#of, ...parts]));
    return join(this.#folder, key.digest("hex").slice(0, 32));
  }

  /** Reads the program in a file; undefined if the file is missing or damaged. */
  async read(file: string): Promise<Uint8Array | undefined> {
    try {
      const content = await readFile(file);
      const program = content.subarray(DIGITS);
      return content.toString("latin1", 0, DIGITS) === seal(file, program) ? program : undefined;
    } catch {
      return undefined;
    }
  }

  /** Writes a program to a file. Leaves no file if that fails, for example because the disk is full. */
  async keep(file: string, program: Uint8Array): Promise<void> {
    const partial = `${file}.${randomBytes(6).toString("hex")}${PARTIAL}`;
    try {
      await writeFile(partial, Buffer.concat([Buffer.from(seal(file, program)), program]));
      await rename(partial, file);
    } catch {
      await rm(partial, { force: true }).catch(() => undefined);
    }
  }

  /** Removes incomplete files that killed processes left, once they are a day old. */
  async #sweep(): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    for (const path of names
      .filter((name) => name.endsWith(PARTIAL))
      .map((name) => join(this.#folder, name))) {
      const found = await stat(path).catch(() => undefined);
      if (found !== undefined && Date.now() - found.mtimeMs > DAY_MS)
        await rm(path, { force: true }).catch(() => undefined);
    }
  }
}

/** The digest at the start of a file. It covers the file's name, so that a renamed file is not accepted. */
const seal = (file: string, program: Uint8Array): string =>
  createHash("sha256").update(basename(file)).update(program).digest("hex");

/** Describes all that determines a compiled program besides its text and flags. */
function describeEngine({ plugin, platform, platformVersion, device, deviceCount }: Client): string {
  const { size, mtimeMs } = statSync(plugin.path);
  return JSON.stringify([
    [plugin.path, size, mtimeMs, plugin.apiVersion],
    [platform, platformVersion, device, deviceCount, process.arch],
    // XLA reads this variable too.
    process.env["XLA_FLAGS"] ?? "",
    linesOf("/proc/cpuinfo").find((line) => /^(flags|Features)\b/.test(line)) ?? "",
    linesOf("/proc/driver/nvidia/version"),
    kernelLibraries(linesOf("/proc/self/maps")).map((library) => [library, statSync(library).size]),
  ]);
}

/** Lists the loaded NVIDIA libraries that programs call. @param maps lines of /proc/self/maps */
export const kernelLibraries = (maps: readonly string[]): readonly string[] => [
  ...new Set(maps.flatMap((line) => /\/\S*\/lib(?:cudnn|cublas)\.so\S*$/.exec(line)?.[0] ?? [])),
];

/** Returns the lines of a system file; none if there is no such file. */
function linesOf(path: string): readonly string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch {
    return [];
  }
}
