import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

export interface InstalledPackage {
  readonly name: string;
  readonly version: string;
  /** Absolute, with symbolic links resolved. */
  readonly folder: string;
}

/** The package that an `import` in one of the folders would find; they are searched in order, each with its parents. */
export function findPackage(name: string, from: readonly string[]): InstalledPackage | undefined {
  for (const folder of from.flatMap((place) => upwards(resolve(place)))) {
    const candidate = join(folder, "node_modules", name);
    if (!existsSync(join(candidate, "package.json"))) continue;
    const real = realpathSync(candidate);
    return { name, version: versionIn(real), folder: real };
  }
  return undefined;
}

/** The URL that an `import` of this entry gives to a file in the folder. Undefined if it finds none. */
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
    const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      version?: unknown;
    };
    return String(version);
  } catch {
    return "of an unreadable package.json";
  }
}
