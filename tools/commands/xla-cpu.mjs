import { runWith } from "../workspace/run-with.mjs";
import { xlaEnvironment } from "../workspace/xla-cpu.mjs";

/**
 * Runs a command in which `xla()` of @mp/backend-xla opens XLA's CPU plugin.
 * @param {readonly string[]} args the command and its arguments
 * @returns {number} its exit code
 */
export const run = (args) =>
  runWith("xla-cpu", args, "python3 with pip, and a package index", xlaEnvironment);
