import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { fail } from "../workspace/fail.mjs";

const USAGE =
  "gpu: pack DIR [--without-cuda] [--xla] [--tensorflow cpu|cuda], or run DIR [flags of run.sh]; see docs/gpu.md";

/**
 * @typedef {object} PackOptions
 * @property {boolean} hasCuda ONNX Runtime's CUDA libraries
 * @property {boolean} hasXla XLA's plugin for CUDA
 * @property {"cpu" | "cuda" | undefined} tensorFlow TensorFlow's library, for that device
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
  const at = flags.indexOf("--tensorflow");
  const device = at < 0 ? undefined : flags[at + 1];
  const others = flags.filter((_, index) => at < 0 || (index !== at && index !== at + 1));
  if (others.some((flag) => flag !== "--without-cuda" && flag !== "--xla")) return fail(USAGE, 2);
  if (at >= 0 && device !== "cpu" && device !== "cuda") return fail(USAGE, 2);
  return {
    hasCuda: !others.includes("--without-cuda"),
    hasXla: others.includes("--xla"),
    tensorFlow: device === "cpu" || device === "cuda" ? device : undefined,
  };
}
