import { spawnSync } from "node:child_process";
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
    const { status, stdout } = spawnSync("pnpm", ["pack", "--json", "--pack-destination", folder], {
      cwd: join(root, path),
      env: environment,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (status !== 0) fail(`pack: ${name} could not be packed`);
    const { filename } = JSON.parse(stdout);
    tarballs.set(name, filename);
    onPacked(name, filename);
  }
  return tarballs;
}
