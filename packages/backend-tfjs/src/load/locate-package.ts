import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const TFJS_NODE = "@tensorflow/tfjs-node";
const TFJS_NODE_GPU = "@tensorflow/tfjs-node-gpu";

/** Plain `npm install` runs the package's own script, which fails, and everything with it, where its servers are out of reach. */
export const INSTALL_COMMAND: string = `npm install --ignore-scripts ${TFJS_NODE}`;
/** Brings a current libtensorflow and the addon. */
export const LIBRARY_COMMAND: string = "npx mp-libtensorflow";

/** An installed tfjs-node, with or without its addon. */
export interface TfjsPackage {
  readonly name: string;
  readonly version: string;
  /** Absolute, symbolic links resolved. */
  readonly folder: string;
  /** Where the package looks for its addon on this Node; need not exist. */
  readonly addon: string;
}

/** Highest first, as the package's own loader chooses. */
const NEWEST_NAPI = 8;

/** The packages to look for, best first: either serves either device, given the libraries that it needs. */
export function packagesFor(device: "cpu" | "cuda"): readonly string[] {
  return device === "cuda" ? [TFJS_NODE_GPU, TFJS_NODE] : [TFJS_NODE, TFJS_NODE_GPU];
}

/**
 * The first of the packages that is found from one of the places, which are searched in order. Folders are walked
 * up as an `import` does; NODE_PATH, which `require` would follow, may lead into another project.
 * @param searchFrom folders
 */
export function locatePackage(
  names: readonly string[],
  searchFrom: readonly string[],
): TfjsPackage | undefined {
  return searchFrom
    .flatMap((place) => upwards(resolve(place)))
    .flatMap((folder) => names.map((name) => join(folder, "node_modules", name)))
    .filter((folder) => existsSync(join(folder, "package.json")))
    .map((folder) => packageAt(realpathSync(folder)))
    .at(0);
}

function upwards(folder: string): readonly string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...upwards(parent)];
}

/** Folders to search from when nothing is said: the working directory, then this package's own place. */
export function searchPlaces(workingDirectory: string = process.cwd()): readonly string[] {
  return [workingDirectory, dirname(fileURLToPath(import.meta.url))];
}

/** @throws Error when the folder holds no readable package.json */
export function packageAt(folder: string): TfjsPackage {
  const { name, version, binary } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    name: string;
    version: string;
    binary?: { napi_versions?: number[] };
  };
  const napi = Math.min(
    Math.max(...(binary?.napi_versions ?? [NEWEST_NAPI])),
    Number(process.versions["napi"] ?? NEWEST_NAPI),
  );
  return { name, version, folder, addon: join(folder, "lib", `napi-v${napi}`, "tfjs_binding.node") };
}

/** Whether tfjs-node and its addon are there; says nothing about whether it loads. */
export function tensorFlowInstalled(workingDirectory?: string): boolean {
  const found = locatePackage(packagesFor("cpu"), searchPlaces(workingDirectory));
  return found !== undefined && existsSync(found.addon);
}
