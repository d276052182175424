import { spawnSync } from "node:child_process";
import { delimiter, join } from "node:path";
import { fail } from "./fail.mjs";
import { root } from "./packages.mjs";

const bin = join(root, "node_modules", ".bin");

/** Environment in which the workspace's own commands, and the pnpm that turbo calls, are found first. */
export const environment = {
  ...process.env,
  ...(process.stdout.isTTY ? {} : { NO_COLOR: "1", FORCE_COLOR: "0" }),
  PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}`,
  TURBO_TELEMETRY_DISABLED: "1",
  TURBO_NO_UPDATE_NOTIFIER: "1",
  DO_NOT_TRACK: "1",
};

/**
 * Runs turbo tasks, in two packages at a time, because the machines that this is made for have two cores.
 * @param {readonly string[]} tasks
 * @param {{ filter?: readonly string[]; quiet?: boolean; keepGoing?: boolean; showTasks?: boolean; variables?: Record<string, string> }} [options]
 *   `quiet` shows its output only where it fails, `showTasks` a line for each task and no output, `variables` are added
 *   to its environment
 * @returns {boolean} whether everything succeeded
 */
export function turbo(tasks, options = {}) {
  const { filter = [], quiet = false, keepGoing = false, showTasks = false, variables = {} } = options;
  const { status, error, stdout, stderr } = spawnSync(
    process.execPath,
    [
      join(root, "node_modules", "turbo", "bin", "turbo"),
      "run",
      ...tasks,
      ...filter.map((pattern) => `--filter=${pattern}`),
      "--concurrency=2",
      "--ui=stream",
      "--log-order=grouped",
      ...(quiet ? ["--output-logs=errors-only"] : []),
      ...(showTasks ? ["--output-logs=hash-only"] : []),
      ...(keepGoing ? ["--continue"] : []),
    ],
    {
      cwd: root,
      env: { ...environment, ...variables },
      stdio: ["ignore", quiet ? "pipe" : "inherit", quiet ? "pipe" : "inherit"],
      encoding: "utf8",
      maxBuffer: 2 ** 28,
    },
  );
  if (error) fail(`turbo did not start: ${error.message}`);
  if (quiet && status !== 0) process.stderr.write(`${stdout}${stderr}`);
  return status === 0;
}

/**
 * Builds packages, and shows the output only where it fails. Does nothing in a process that `npm run check` started: it
 * has built them, and turbo may write files again that another check reads.
 * @param {readonly string[]} [filter]
 * @returns {boolean} whether they are built
 */
export const buildPackages = (filter = ["./packages/*"]) =>
  process.env["MP_BUILT"] === "1" || turbo(["build"], { filter, quiet: true });

/**
 * Runs one of the workspace's commands (biome, knip, tsc …) from the root.
 * @param {string} name
 * @param {readonly string[]} args
 * @returns {boolean} whether it succeeded
 */
export function tool(name, args) {
  const { status, error } = spawnSync(join(bin, name), args, {
    cwd: root,
    env: environment,
    stdio: ["ignore", "inherit", "inherit"],
    shell: process.platform === "win32",
  });
  if (error) fail(`${name} did not start: ${error.message}`);
  return status === 0;
}

/**
 * Runs a program by this Node, with this process's output.
 * @param {readonly string[]} args
 * @param {import("node:child_process").SpawnSyncOptions} [options]
 * @returns {number | null} exit code; null after a signal
 */
export const runNode = (args, options = {}) =>
  spawnSync(process.execPath, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"], ...options })
    .status;

/** Runs a program of tools/checks. @param {string} name @returns {boolean} whether it succeeded */
export const runCheck = (name) => runNode([join(root, "tools/checks", `${name}.mjs`)]) === 0;
