import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * @typedef {object} Manifest
 * @property {string} name
 * @property {string} [version]
 * @property {string} [type]
 * @property {string} [license]
 * @property {string} [description]
 * @property {boolean} [private]
 * @property {string[]} [files]
 * @property {string} [packageManager]
 * @property {Record<string, string>} [engines]
 * @property {Record<string, string>} [scripts]
 * @property {Record<string, unknown>} [exports]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [peerDependencies]
 * @property {Record<string, string>} [devDependencies]
 */

/**
 * @typedef {object} WorkspacePackage
 * @property {string} path from the root, with `/`
 * @property {string} folder the last part of the path
 * @property {string} name
 * @property {Manifest} manifest
 */

export const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * @param {string} path from the root
 * @returns {Manifest}
 */
export function manifestAt(path) {
  return JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
}

/**
 * The packages directly under a folder of the root, sorted by path.
 * @param {string} folder
 * @returns {WorkspacePackage[]}
 */
function packagesUnder(folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder))
    .sort()
    .filter((name) => existsSync(join(root, folder, name, "package.json")))
    .map((name) => {
      const path = `${folder}/${name}`;
      const manifest = manifestAt(path);
      return { path, folder: name, name: manifest.name, manifest };
    });
}

export const libraries = () => packagesUnder("packages");
export const publicLibraries = () => libraries().filter(({ manifest }) => manifest.private !== true);
export const apps = () => packagesUnder("apps");

/** @returns {WorkspacePackage} */
export const bench = () => ({
  path: "bench",
  folder: "bench",
  name: manifestAt("bench").name,
  manifest: manifestAt("bench"),
});

/** Every member of the workspace but the root: the globs of pnpm-workspace.yaml. */
export function members() {
  const own = existsSync(join(root, "bench", "package.json")) ? [bench()] : [];
  return [...libraries(), ...apps(), ...own, ...packagesUnder("tools")];
}
