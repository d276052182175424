import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

export interface InstalledPackage {
  readonly name: string;
  readonly version: string;
  /** Absolute path, with symbolic links resolved. */
  readonly folder: string;
}

/** Finds the package that an `import` in a folder would load. Searches the folders in order, each with its parents. */
export function findPackage(name: string, from: readonly string[]): InstalledPackage | undefined {
  for (const folder of from.flatMap((place) => upwards(resolve(place)))) {
    const candidate = join(folder, "node_modules", name);
    if (!existsSync(join(candidate, "package.json"))) continue;
    const real = realpathSync(candidate);
    return { name, version: versionIn(real), folder: real };
  }
  return undefined;
}

/** The URL that an `import` of an entry in a folder resolves to; undefined if there is none. */
export function entryUrl(entry: string, folder: string): string | undefined {
  try {
    return pathToFileURL(createRequire(join(folder, "package.json")).resolve(entry)).href;
  } catch {
    return undefined;
  }
}

function upwards(folder: string): readonly string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...upwards(parent)];
}

function versionIn(folder: string): string {
  try {
    const manifest: { version?: unknown } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return String(manifest.version);
  } catch {
    return "of an unreadable package.json";
  }
}
