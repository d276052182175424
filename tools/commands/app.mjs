import { spawn } from "node:child_process";
import { constants } from "node:os";
import { join } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { apps, root } from "../workspace/packages.mjs";
import { turbo } from "../workspace/turbo.mjs";

/** @typedef {import("../workspace/packages.mjs").WorkspacePackage} WorkspacePackage */

/** @param {readonly string[]} args @param {() => void} install */
export function run([name, ...flags], install) {
  const app = findApp(name);
  install();
  runApp(app, flags);
}

/**
 * @param {string | undefined} name
 * @returns {WorkspacePackage}
 */
export function findApp(name) {
  const all = apps();
  const app = all.find(({ folder }) => folder === name);
  if (app) return app;
  const known = all.length > 0 ? all.map(({ folder }) => folder).join(", ") : "none in this checkout";
  if (name === "--help" || name === "-h") {
    console.log(`npm run app -- APP [flags]\napps: ${known}\nnpm run app -- APP --help lists an app's flags`);
    process.exit(0);
  }
  return fail(
    `app: ${name === undefined ? "no name given" : `no app is called "${name}"`}; apps: ${known}`,
    2,
  );
}

/**
 * Builds the app with its dependencies, JavaScript only, and starts it with this process's terminal.
 * @param {WorkspacePackage} app
 * @param {readonly string[]} flags
 */
export function runApp(app, flags) {
  if (!turbo(["build"], { filter: [`./${app.path}...`], quiet: true }))
    fail(`app: ${app.folder} did not build, see above`);
  const child = spawn(process.execPath, [join(root, app.path, "dist", "main.js"), ...flags], {
    stdio: "inherit",
  });
  // Ctrl-C reaches the app by itself; this process must outlive it to return its exit code.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  child.on("error", (error) => fail(`app: ${app.folder} did not start: ${error.message}`));
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  });
}
