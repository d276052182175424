import { spawn } from "node:child_process";

/**
 * @typedef {object} Ended
 * @property {number | null} code null where a signal ended it
 * @property {string | null} signal
 * @property {string} output
 * @property {string} errors the end of what it wrote on stderr
 */

const KEPT = 4000;

/**
 * Runs a program to its end, or to the limit; what it says on stderr is copied to this process's.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ limitSeconds?: number; quiet?: boolean }} [options] `quiet`: stderr is not copied
 * @returns {Promise<Ended>}
 */
export function runProcess(command, args, { limitSeconds = 3600, quiet = false } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    let errors = "";
    /** @type {NodeJS.Timeout | undefined} */
    let waiting;
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      // A driver may hold a process that has been killed.
      waiting = setTimeout(() => end(null, "SIGKILL"), 10_000);
    }, limitSeconds * 1000);
    const end = (/** @type {number | null} */ code, /** @type {string | null} */ signal) => {
      clearTimeout(timer);
      clearTimeout(waiting);
      resolve({ code, signal, output, errors });
    };
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      if (!quiet) process.stderr.write(text);
      errors = (errors + text).slice(-KEPT);
    });
    child.on("error", (error) => {
      clearTimeout(timer);
      resolve({ code: 127, signal: null, output, errors: error.message });
    });
    child.on("close", end);
  });
}

/**
 * The last line of a program's output that is JSON.
 * @param {string} output
 * @returns {unknown}
 */
export function lastJson(output) {
  for (const line of output.trimEnd().split("\n").reverse()) {
    if (!line.startsWith("{")) continue;
    try {
      return JSON.parse(line);
    } catch {
      // A log line that begins like an answer.
    }
  }
  return undefined;
}
