import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { apps, root } from "./packages.mjs";
import { environment, turbo } from "./turbo.mjs";

/**
 * Runs an app at a small size: its package.json has a script `smoke`, and others for engines that a machine may lack.
 * @param {import("./packages.mjs").WorkspacePackage} app
 * @param {string} [script]
 * @returns {boolean} whether it succeeded
 */
export function smoke(app, script = "smoke") {
  if (!turbo(["build:js"], { filter: [`./${app.path}...`], quiet: true })) return false;
  const { status } = spawnSync("pnpm", ["--silent", "run", script], {
    cwd: join(root, app.path),
    env: environment,
    stdio: ["ignore", "inherit", "inherit"],
    shell: process.platform === "win32",
  });
  return status === 0;
}

/** Runs all apps at a small size, two at a time; turbo names those that fail. */
export function smokeApps() {
  const succeeded = turbo(["smoke"], { keepGoing: true });
  return { passed: succeeded ? apps().length : 0, failed: Number(!succeeded) };
}
