import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fail } from "./fail.mjs";
import { publicLibraries, root } from "./packages.mjs";
import { environment, turbo } from "./turbo.mjs";

/**
 * Builds every public package, declarations included, and packs it into that folder.
 * @param {string} folder an existing one
 * @param {(name: string, tarball: string) => void} [onPacked] called after each
 * @returns {ReadonlyMap<string, string>} the tarball's path by the package's name
 */
export function packAll(folder, onPacked = () => {}) {
  const filter = publicLibraries().map(({ path }) => `./${path}`);
  if (!turbo(["build"], { filter, quiet: true })) fail("pack: the packages did not build");
  /** @type {Map<string, string>} */
  const tarballs = new Map();
  for (const { name, path } of publicLibraries()) {
    const before = new Set(readdirSync(folder));
    const { status } = spawnSync("pnpm", ["--silent", "pack", "--pack-destination", folder], {
      cwd: join(root, path),
      env: environment,
      stdio: ["ignore", "ignore", "inherit"],
    });
    // An existing tarball is overwritten under the same name.
    const all = readdirSync(folder);
    const prefix = `${name.slice(1).replace("/", "-")}-`;
    const tarball = all.find((file) => !before.has(file)) ?? all.find((file) => isOf(prefix, file));
    if (status !== 0 || tarball === undefined) fail(`pack: ${name} could not be packed`);
    tarballs.set(name, join(folder, tarball));
    onPacked(name, join(folder, tarball));
  }
  return tarballs;
}

/**
 * @param {string} prefix
 * @param {string} file
 */
function isOf(prefix, file) {
  return file.startsWith(prefix) && /^\d/.test(file.slice(prefix.length)) && file.endsWith(".tgz");
}
