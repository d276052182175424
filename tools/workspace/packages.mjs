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

/** @param {string} path from the root, with `/` @returns {WorkspacePackage} */
function packageAt(path) {
  const manifest = manifestAt(path);
  return { path, folder: path.slice(path.lastIndexOf("/") + 1), name: manifest.name, manifest };
}

/**
 * The packages directly under a folder of the root, sorted by path.
 * @param {string} folder
 * @returns {WorkspacePackage[]}
 */
function packagesUnder(folder) {
  if (!existsSync(join(root, folder))) return [];
  const names = readdirSync(join(root, folder)).sort();
  return names.filter((name) => isPackage(`${folder}/${name}`)).map((name) => packageAt(`${folder}/${name}`));
}

const isPackage = (/** @type {string} */ path) => existsSync(join(root, path, "package.json"));

/**
 * The source of an entry of a package.
 * @param {WorkspacePackage} member @param {string} part `index`, or what an import names after the package
 */
export const entrySource = ({ path }, part) =>
  [`src/${part}.ts`, `src/entries/${part}.ts`, `src/${part}/index.ts`]
    .map((file) => join(root, path, file))
    .find((file) => existsSync(file));

export const libraries = () => packagesUnder("packages");
export const publicLibraries = () => libraries().filter(({ manifest }) => manifest.private !== true);
export const apps = () => packagesUnder("apps");
export const bench = () => packageAt("bench");

/** Every member of the workspace but the root: the globs of pnpm-workspace.yaml. */
export const members = () => [
  ...libraries(),
  ...apps(),
  ...(isPackage("bench") ? [bench()] : []),
  ...packagesUnder("tools"),
];
