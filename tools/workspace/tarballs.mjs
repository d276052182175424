import { spawnSync } from "node:child_process";
import { fail } from "./fail.mjs";
import { publicLibraries, root } from "./packages.mjs";
import { buildPackages, environment, turbo } from "./turbo.mjs";

/**
 * Builds every public package, declarations included, and packs it into a folder.
 * @param {string} folder an existing one
 * @param {boolean} [showsProgress] whether each package that is built is named
 * @returns {ReadonlyMap<string, string>} the tarball's path by the package's name
 */
export function packAll(folder, showsProgress = false) {
  const libraries = publicLibraries();
  const filter = libraries.map(({ path }) => `./${path}`);
  // What fails is run again to show its output.
  const isBuilt = showsProgress && turbo(["build"], { filter, showTasks: true });
  if (!isBuilt && !buildPackages(filter)) fail("pack: the packages did not build");
  const { status, stdout } = spawnSync(
    "pnpm",
    [...filter.flatMap((path) => ["--filter", path]), "pack", "--json", "--pack-destination", folder],
    {
      cwd: root,
      env: environment,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
      maxBuffer: 2 ** 28,
    },
  );
  if (status !== 0) fail("pack: the packages could not be packed");
  /** @type {readonly { name: string; filename: string }[]} */
  const packed = JSON.parse(stdout);
  return new Map(packed.map(({ name, filename }) => [name, filename]));
}
