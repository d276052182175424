/**
 * `changeset version`, for packages that are released together: all get the same version, and the next one's peers are
 * packages of that version.
 *
 * The peer range `workspace:^` is published as `^0.2.0`, which an npm user wants: packages of two minors before 1.0 do
 * not fit together. Changesets takes a minor of core for leaving the range of today's version, and makes every package
 * that has core as a peer a major, 1.0.0. So it does not get to see these peers; versions are all that it changes.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publicLibraries } from "./packages.mjs";

/** @typedef {import("./packages.mjs").Manifest} Manifest */

/**
 * @param {string} root of a checkout: this one, or a copy
 * @param {() => boolean} changesetVersion runs `changeset version` there; false if it failed
 * @returns {boolean} whether it did; if not, the manifests are what they were
 */
export function nextVersions(root, changesetVersion) {
  const libraries = publicLibraries();
  const names = new Set(libraries.map(({ name }) => name));
  const files = libraries.map(({ path }) => {
    const file = join(root, path, "package.json");
    return { file, text: readFileSync(file, "utf8") };
  });
  for (const { file, text } of files) writeFileSync(file, withoutPeers(JSON.parse(text), names));
  /** @type {Map<string, string | undefined>} */
  const versions = new Map();
  try {
    if (!changesetVersion()) return false;
    for (const { file } of files) versions.set(file, JSON.parse(readFileSync(file, "utf8")).version);
    return true;
  } finally {
    for (const { file, text } of files) {
      const next = versions.get(file);
      writeFileSync(file, next === undefined ? text : text.replace(/("version": ")[^"]*/, `$1${next}`));
    }
  }
}

/** @param {Manifest} manifest @param {ReadonlySet<string>} names */
function withoutPeers({ peerDependencies = {}, ...manifest }, names) {
  const others = Object.entries(peerDependencies).filter(([name]) => !names.has(name));
  return `${JSON.stringify({ ...manifest, peerDependencies: Object.fromEntries(others) }, null, 2)}\n`;
}
