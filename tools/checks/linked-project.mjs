import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { libraries, root } from "../workspace/packages.mjs";

/**
 * An empty project in which this checkout's packages are installed, as a user's program would run against them.
 * @param {string} name of the folder, new at each call
 * @returns {string} the project's folder
 */
export function linkedProject(name) {
  const folder = join(root, "node_modules", name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  for (const { name: dependency, path } of libraries()) {
    const link = join(folder, "node_modules", dependency);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, path), link, "junction");
  }
  return folder;
}
