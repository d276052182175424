import { readFileSync, statSync } from "node:fs";
import { mkdir, readdir, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openWheel, publishFolder, requireSpace, withdrawFolder } from "@mp/wheels";
import * as own from "@mp/wheels/own-place";
import { extractHeaders } from "./headers.js";
import type { WheelName } from "./wheel-name.js";

/** Libraries under `tensorflow/` in the wheel and under `lib/` in the cache. */
export const LIBRARIES = ["libtensorflow_cc.so.2", "libtensorflow_framework.so.2"] as const;

/** A libtensorflow in the cache, unpacked and complete. */
export interface CachedLibrary {
  /** `tensorflow_cpu-2.21.0-2b847d217b02`: project, release, the first digits of the wheel's SHA-256. */
  readonly key: string;
  /** Folder with `lib`, `include` and `wheel.json`. */
  readonly folder: string;
  readonly version: string;
  readonly wheel: string;
  readonly sizeBytes: number;
  /** Whether the wheel came from an index or is a file of the user. */
  readonly origin: "index" | "file";
}

/** Content of `wheel.json`, which is written last, so that the sizes in it are those of complete files. */
interface CacheNote {
  readonly wheel: string;
  readonly version: string;
  readonly origin: "index" | "file";
  readonly libraries: Readonly<Record<string, number>>;
}

/** The folder of this package in the user's cache. */
export const cacheFolder = (environment: Readonly<Record<string, string | undefined>>): string =>
  own.cacheFolder("libtensorflow", environment);

export function libraryKey({ name, version }: WheelName, digest: string): string {
  return `${name}-${version}-${digest.slice(0, 12)}`;
}

/** Reads the cached library with this key; undefined if a part of it is missing. */
export function readLibrary(cache: string, key: string): CachedLibrary | undefined {
  const folder = join(cache, key);
  try {
    const note = JSON.parse(readFileSync(join(folder, "wheel.json"), "utf8")) as CacheNote;
    const sizes = LIBRARIES.map((file) => statSync(join(folder, "lib", file)).size);
    if (!LIBRARIES.every((file, i) => note.libraries[file] === sizes[i])) return undefined;
    const sizeBytes = sizes.reduce((sum, size) => sum + size, 0);
    return { key, folder, version: note.version, wheel: note.wheel, origin: note.origin, sizeBytes };
  } catch {
    return undefined;
  }
}

/** Finds a cached library of this project and release that came from an index, whatever its digest. */
export async function findRelease(
  cache: string,
  project: string,
  version: string,
): Promise<CachedLibrary | undefined> {
  const prefix = `${project.replaceAll("-", "_")}-${version}-`;
  const names = await readdir(cache).catch(() => []);
  return names
    .filter((name) => name.startsWith(prefix))
    .map((name) => readLibrary(cache, name))
    .find((library) => library?.origin === "index");
}

/**
 * Unpacks a wheel into the cache and checks every file against the wheel's RECORD.
 * @throws MP_PARSE if the wheel is damaged or lacks a part, MP_IO if there is no space
 */
export async function unpackLibrary(options: {
  readonly cache: string;
  readonly key: string;
  readonly wheel: WheelName;
  readonly path: string;
  readonly origin: "index" | "file";
}): Promise<CachedLibrary> {
  const { cache, key, wheel, path, origin } = options;
  await mkdir(cache, { recursive: true });
  const archive = await openWheel(path, "a wheel of TensorFlow 2.12 or later for Linux");
  try {
    const libraries = Object.fromEntries(
      LIBRARIES.map((file) => [file, archive.sizeOf(`tensorflow/${file}`)] as const),
    );
    const { bavail, bsize } = await statfs(cache);
    requireSpace(
      cache,
      bavail * bsize,
      Object.values(libraries).reduce((sum, size) => sum + size, 0),
    );
    // A library with this name that is already there lacks a part; otherwise it would have been used.
    await withdrawFolder(join(cache, key));
    await publishFolder(join(cache, key), async (partial) => {
      for (const file of LIBRARIES) await archive.extract(`tensorflow/${file}`, join(partial, "lib", file));
      await extractHeaders(archive, join(partial, "include"));
      const note: CacheNote = { wheel: wheel.file, version: wheel.version, origin, libraries };
      await writeFile(join(partial, "wheel.json"), `${JSON.stringify(note)}\n`);
    });
  } finally {
    archive.close();
  }
  const unpacked = readLibrary(cache, key);
  if (unpacked === undefined) throw new Error(`internal: ${join(cache, key)} is not whole after unpacking`);
  return unpacked;
}
