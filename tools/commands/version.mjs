import { spawnSync } from "node:child_process";
import { fail } from "../workspace/fail.mjs";
import { nextVersions } from "../workspace/next-versions.mjs";
import { root } from "../workspace/packages.mjs";
import { environment } from "../workspace/turbo.mjs";

/** Writes the next version of all packages, and their changelogs, from the changesets. */
export function run() {
  const options = { cwd: root, env: environment, stdio: /** @type {const} */ ("inherit") };
  if (!nextVersions(root, () => spawnSync("changeset", ["version"], options).status === 0))
    fail("version: changeset version failed");
}
