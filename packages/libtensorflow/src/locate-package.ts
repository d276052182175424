import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const TFJS_NODE = "@tensorflow/tfjs-node";
const TFJS_NODE_GPU = "@tensorflow/tfjs-node-gpu";

/**
 * A plain `npm install` also runs the package's own script, which makes the installation fail where its servers are
 * unreachable.
 */
export const INSTALL_COMMAND: string = `npm install --ignore-scripts ${TFJS_NODE}`;

/**
 * The command that installs a current libtensorflow and the addon, by the place of this package: installed, npx finds it
 * and with `--no` never fetches a stranger's package of that name; in a checkout it is the file, which runs from any folder.
 */
export function libraryCommand(moduleUrl: string): string {
  if (moduleUrl.includes("/node_modules/")) return "npx --no mp-libtensorflow";
  return `node ${fileURLToPath(new URL("../bin/mp-libtensorflow.js", moduleUrl))}`;
}

/** Installs a current libtensorflow and the addon. */
export const LIBRARY_COMMAND: string = libraryCommand(import.meta.url);

/** An installed tfjs-node, with or without its addon. */
export interface TfjsPackage {
  readonly name: string;
  readonly version: string;
  /** Absolute, with symbolic links resolved. */
  readonly folder: string;
  /** The path at which the package looks for its addon on this Node; need not exist. */
  readonly addon: string;
}

/** The highest version is tried first, as in the package's own loader. */
const NEWEST_NAPI = 8;

/**
 * The packages to look for, in order of preference: either works on either device, given the libraries that it needs.
 */
export function packagesFor(device: "cpu" | "cuda"): readonly string[] {
  return device === "cuda" ? [TFJS_NODE_GPU, TFJS_NODE] : [TFJS_NODE, TFJS_NODE_GPU];
}

/**
 * The first of the packages that is found from one of the folders, which are searched in order. Parent folders are
 * searched as for an `import`; NODE_PATH, which `require` would follow, may lead into another project.
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
