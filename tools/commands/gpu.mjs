import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { fail } from "../workspace/fail.mjs";

const USAGE = "gpu: pack DIR [--without-cuda] [--xla], or run DIR [flags of run.sh]; see docs/gpu.md";

/**
 * @typedef {object} PackOptions
 * @property {boolean} hasCuda ONNX Runtime's CUDA libraries
 * @property {boolean} hasXla XLA's plugin for CUDA
 */

/** @param {readonly string[]} args @param {() => void} install @returns {Promise<number>} exit code */
export async function run([verb, folder, ...flags], install) {
  if ((verb !== "pack" && verb !== "run") || folder === undefined || folder.startsWith("-"))
    return fail(USAGE, 2);
  if (verb === "run")
    return spawnSync("sh", [join(resolve(folder), "run.sh"), ...flags], { stdio: "inherit" }).status ?? 1;
  const options = packOptions(flags);
  install();
  await (await import("../gpu/pack.mjs")).packGpu(resolve(folder), options);
  return 0;
}

/** @param {readonly string[]} flags @returns {PackOptions} */
function packOptions(flags) {
  if (flags.some((flag) => flag !== "--without-cuda" && flag !== "--xla")) return fail(USAGE, 2);
  return { hasCuda: !flags.includes("--without-cuda"), hasXla: flags.includes("--xla") };
}
