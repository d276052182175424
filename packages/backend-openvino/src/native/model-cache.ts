import { mkdirSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { MpError } from "@mp/graph";
import { publishFolder, sweepPartials, withdrawFolder } from "@mp/wheels/publish";
import { digest } from "./digest.js";

/** The file in a model's folder with the digests of all its other files. */
const SUMS = "SHA256SUMS";

/**
 * Compiled models on disk, each in a folder that the library gets as its CACHE_DIR. The library writes files in place
 * and loads damaged ones, which then compute wrongly. So the cache moves a finished folder into place by one rename,
 * and checks its digests before the library reads it.
 */
export class ModelCache {
  readonly #folder: string;
  readonly #of: readonly string[];

  /**
   * @param of identifies the library and the processor, on which every compiled model depends
   * @throws MP_IO for a folder that cannot be created
   */
  constructor(folder: string, of: readonly string[]) {
    this.#folder = resolve(folder);
    this.#of = of;
    try {
      mkdirSync(this.#folder, { recursive: true });
    } catch (cause) {
      const message = `openvino: cache must be a folder that can be written, got ${this.#folder}: ${String(cause)}`;
      throw new MpError("MP_IO", message, { details: { folder: this.#folder }, cause });
    }
    // Partial folders that another user left cannot be removed.
    sweepPartials(this.#folder).catch(() => {});
  }

  /**
   * Compiles a model from its cached folder, or into a new one; without a folder if files cannot be kept.
   * @param settings everything else that the compiled model depends on
   */
  async compile<M>(
    model: Uint8Array,
    settings: string,
    compileIn: (cacheFolder: string | undefined) => Promise<M>,
  ): Promise<M> {
    const final = join(this.#folder, digest(...this.#of, settings, model).slice(0, 32));
    if (await isWhole(final)) return compileIn(final);
    let compiled: { readonly model: M } | { readonly failure: unknown } | undefined;
    try {
      await withdrawFolder(final);
      await publishFolder(final, async (partial) => {
        try {
          compiled = { model: await compileIn(partial) };
        } catch (failure) {
          compiled = { failure };
          throw failure;
        }
        await writeFile(join(partial, SUMS), await listSums(partial));
      });
    } catch {
      // The disk is full, or the folder has been removed.
    }
    if (compiled === undefined) return compileIn(undefined);
    if ("failure" in compiled) throw compiled.failure;
    return compiled.model;
  }
}

async function listSums(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name !== SUMS).sort();
  const lines = names.map(async (name) => `${digest(await readFile(join(folder, name)))}  ${name}\n`);
  return (await Promise.all(lines)).join("");
}

async function isWhole(folder: string): Promise<boolean> {
  try {
    const sums = await readFile(join(folder, SUMS), "utf8");
    return sums !== "" && sums === (await listSums(folder));
  } catch {
    return false;
  }
}
