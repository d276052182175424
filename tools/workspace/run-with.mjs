/** Commands that download parts, then run another command so that it finds them. */
import { spawnSync } from "node:child_process";
import { constants } from "node:os";
import { fail } from "./fail.mjs";
import { PartsMissing } from "./parts.mjs";
import { environment } from "./turbo.mjs";

/**
 * @param {string} name of our command, for messages
 * @param {readonly string[]} args the command and its arguments
 * @param {string} needs what the download requires of a machine
 * @param {() => Record<string, string>} variables of the command's environment, after the download
 * @returns {number} its exit code
 */
export function runWith(name, [command, ...args], needs, variables) {
  if (command === undefined) return fail(`${name}: no command, such as: node program.mjs`, 2);
  const { status, signal, error } = spawnSync(command, args, {
    env: { ...environment, ...orFail(name, needs, variables) },
    stdio: "inherit",
  });
  if (error) return fail(`${name}: ${command} did not start: ${error.message}`, 1);
  return status ?? 128 + constants.signals[signal ?? "SIGTERM"];
}

/** @param {string} name @param {string} needs @param {() => Record<string, string>} variables */
function orFail(name, needs, variables) {
  try {
    return variables();
  } catch (error) {
    if (!(error instanceof PartsMissing)) throw error;
    return fail(`${name}: ${error.message}; it takes ${needs}`, 1);
  }
}
