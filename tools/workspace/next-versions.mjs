/**
 * Runs `changeset version` for packages that are released together: all get the same version, also as peers.
 *
 * The peer range `workspace:^` is published as `^0.2.0`, as an npm user needs it: packages of two minor versions before
 * 1.0 do not fit together. But the next minor version of core is outside that range, for which Changesets would give
 * every package with core as a peer a major version, 1.0.0. So these peers are hidden from it; it only changes
 * versions.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publicLibraries } from "./packages.mjs";

/** @typedef {import("./packages.mjs").Manifest} Manifest */

/**
 * @param {string} root of a checkout: this one, or a copy
 * @param {() => boolean} changesetVersion runs `changeset version` there; false if it failed
 * @returns {boolean} whether it succeeded; if not, the manifests are unchanged
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
