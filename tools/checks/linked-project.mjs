import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { libraries, root } from "../workspace/packages.mjs";

/**
 * An empty project in which this checkout's packages are installed, as a user's program would run against them.
 * @param {string} name of the folder, new at each call
 * @param {Readonly<Record<string, string>>} [others] other packages by name, and which package here has them installed
 * @returns {string} the project's folder
 */
export function linkProject(name, others = {}) {
  const folder = join(root, "node_modules", name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  const linked = [
    ...libraries().map(({ name, path }) => [name, path]),
    ...Object.entries(others).map(([name, user]) => [name, join(user, "node_modules", name)]),
  ];
  for (const [dependency = "", path = ""] of linked) {
    const link = join(folder, "node_modules", dependency);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, path), link, "junction");
  }
  return folder;
}
