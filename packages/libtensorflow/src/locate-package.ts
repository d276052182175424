import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ownCommand } from "@mp/wheels/own-place";

const TFJS_NODE = "@tensorflow/tfjs-node";
const TFJS_NODE_GPU = "@tensorflow/tfjs-node-gpu";

/**
 * The command that installs tfjs-node without its install script, which fails where that script's servers are
 * unreachable.
 */
export const INSTALL_COMMAND: string = `npm install --ignore-scripts ${TFJS_NODE}`;

/** The command that installs a current libtensorflow and the addon. */
export const libraryCommand = (moduleUrl: string): string => ownCommand("mp-libtensorflow", moduleUrl);

/** The command for this installation of the package. */
export const LIBRARY_COMMAND: string = libraryCommand(import.meta.url);

/** An installed tfjs-node, with or without its addon. */
export interface TfjsPackage {
  readonly name: string;
  readonly version: string;
  /** Absolute path, with symbolic links resolved. */
  readonly folder: string;
  /** Path of the addon that the package loads on this version of Node; need not exist. */
  readonly addon: string;
}

/** The highest version of Node-API, tried first as in the package's own loader. */
const NEWEST_NAPI = 8;

/** Packages to look for, in order of preference. Each works on either device, given the libraries that it needs. */
export function packagesFor(device: "cpu" | "cuda"): readonly string[] {
  return device === "cuda" ? [TFJS_NODE_GPU, TFJS_NODE] : [TFJS_NODE, TFJS_NODE_GPU];
}

/**
 * Finds the first installed package of these names. Searches the folders in order, each with its parents as for an
 * `import`. Ignores NODE_PATH, which `require` follows and which may lead into another project.
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

/** @throws Error if the folder has no readable package.json */
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
