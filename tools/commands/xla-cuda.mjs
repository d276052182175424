import { runWith } from "../workspace/run-with.mjs";
import { xlaCudaEnvironment } from "../workspace/xla-cuda.mjs";

/**
 * Runs a command in which MP_XLA_CUDA is the path of XLA's CUDA plugin.
 * @param {readonly string[]} args the command and its arguments
 * @returns {number} its exit code
 */
export const run = (args) =>
  runWith("xla-cuda", args, "python3 with pip, and a package index", xlaCudaEnvironment);
