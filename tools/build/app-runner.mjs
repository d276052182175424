/** Runs built apps in the process of their tests: a process each would start Node and load the engine every time. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** @typedef {{ status: number | string | undefined, stdout: string, stderr: string }} Ended */

/** The entry runs anew each time that its address is new; the modules that it imports stay. */
let runs = 0;

/**
 * Collects what the process writes until the returned function is called.
 * @param {"stdout" | "stderr"} name
 */
function collect(name) {
  const stream = process[name];
  const { write } = stream;
  const before = stream.listeners("error");
  let text = "";
  stream.write = /** @type {typeof write} */ (
    (/** @type {unknown} */ chunk) => {
      text += String(chunk);
      return true;
    }
  );
  return () => {
    stream.write = write;
    for (const listener of stream.listeners("error"))
      if (!before.includes(listener)) stream.off("error", /** @type {() => void} */ (listener));
    return text;
  };
}

/**
 * @param {URL} main the app's built program
 * @param {readonly string[]} common flags that come before those of each run
 */
export function appRunner(main, common = []) {
  const folder = mkdtempSync(join(tmpdir(), "mp-app-"));

  /**
   * Ends as the process would. Runs must not overlap.
   * @param {readonly string[]} flags
   * @returns {Promise<Ended>}
   */
  async function run(...flags) {
    const { argv, exitCode } = process;
    const [out, err] = [collect("stdout"), collect("stderr")];
    process.argv = [process.execPath, fileURLToPath(main), ...common, ...flags];
    process.exitCode = undefined;
    let [status, stdout, stderr] = [process.exitCode, "", ""];
    try {
      await import(`${main.href}?run=${++runs}`);
    } finally {
      status = process.exitCode ?? 0;
      Object.assign(process, { argv, exitCode });
      [stdout, stderr] = [out(), err()];
    }
    return { status, stdout, stderr };
  }

  /**
   * The result that a run writes, and what the run prints.
   * @param {readonly string[]} flags
   */
  async function result(...flags) {
    const json = join(folder, "result.json");
    rmSync(json, { force: true });
    const { status, stdout, stderr } = await run("--json", json, ...flags);
    if (status !== 0 || stderr.includes("MP_")) throw new Error(`exit code ${status}: ${stderr}`);
    return { ...JSON.parse(readFileSync(json, "utf8")), stdout };
  }

  /**
   * The runs that do not end with exit code 2 and one line on standard error.
   * @param {readonly (readonly string[])[]} cases flags of each run
   */
  async function notRefused(cases) {
    const wrong = [];
    for (const flags of cases) {
      const ended = await run("--steps", "2", ...flags);
      if (ended.status !== 2 || ended.stderr.trim().split("\n").length !== 1) wrong.push({ flags, ...ended });
    }
    return wrong;
  }

  /**
   * Runs the app in a process of its own, which gets Ctrl-C at its first step.
   * @param {readonly string[]} flags
   * @returns the exit code
   */
  const interrupted = (...flags) =>
    spawnSync(process.execPath, [
      "--import",
      "@mp/build/interrupt-at-first-step",
      fileURLToPath(main),
      ...common,
      ...flags,
    ]).status;

  return {
    folder,
    run,
    result,
    notRefused,
    interrupted,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}
