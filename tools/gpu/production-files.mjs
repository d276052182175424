import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { ENGINE } from "./pinned.mjs";

/** The parts of a workspace member that are needed to run it. */
const MEMBER_PARTS = ["package.json", "dist", "peers"];
/** Files of other packages that no program on Linux x64 reads. */
const FOREIGN = /(^|[/-])(darwin|win32|arm64|musl)([/.-]|$)/;

/**
 * @typedef {object} Needs
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [optionalDependencies]
 * @property {Record<string, string>} [peerDependencies]
 * @property {Record<string, { readonly optional?: boolean }>} [peerDependenciesMeta]
 */

/**
 * Files and links, relative to the root, that the members need in order to run: their builds and production
 * dependencies. They keep their locations, so that pnpm's links still lead to the same packages.
 * @param {string} root
 * @param {readonly string[]} members
 * @returns {readonly string[]}
 */
export function productionFiles(root, members) {
  /** @type {Set<string>} */
  const found = new Set();
  /** @type {Set<string>} */
  const seen = new Set();
  const open = members.map((member) => realpathSync(join(root, member)));
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    if (seen.has(folder)) continue;
    seen.add(folder);
    const isMember = !folder.includes(`${sep}node_modules${sep}`);
    for (const file of isMember ? memberFiles(folder) : filesUnder(folder)) found.add(relative(root, file));
    for (const name of dependencyNames(folder)) {
      const link = linkTo(name, folder, root);
      if (link === undefined) continue;
      found.add(relative(root, link));
      open.push(realpathSync(link));
    }
  }
  return [...found].sort();
}

/** @param {string} folder */
function memberFiles(folder) {
  const parts = MEMBER_PARTS.map((part) => join(folder, part)).filter((part) => existsSync(part));
  return parts.flatMap((part) => (part.endsWith(".json") ? [part] : filesUnder(part)));
}

/** @param {string} folder @returns {string[]} */
function filesUnder(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === "node_modules" || entry.name === "__pycache__" || FOREIGN.test(entry.name)) return [];
    if (/\.(map|d\.[cm]?ts)$/.test(entry.name) && folder.endsWith(`${sep}dist`)) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesUnder(path) : [path];
  });
}

/** @param {string} folder */
function dependencyNames(folder) {
  /** @type {Needs} */
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = manifest;
  const peers = Object.keys(peerDependencies ?? {}).filter(
    (name) => name === ENGINE || peerDependenciesMeta?.[name]?.optional !== true,
  );
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers].filter(
    (name) => !FOREIGN.test(name),
  );
}

/**
 * Finds pnpm's link to a dependency: next to a package of the store, or under a member of the workspace.
 * @param {string} name
 * @param {string} folder
 * @param {string} root
 */
function linkTo(name, folder, root) {
  for (let at = folder; at.length >= root.length - 1; at = dirname(at)) {
    const link = at.endsWith(`${sep}node_modules`) ? join(at, name) : join(at, "node_modules", name);
    if (existsSync(link)) return link;
  }
  return undefined;
}
