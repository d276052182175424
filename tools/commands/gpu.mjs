import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { fail } from "../workspace/fail.mjs";

const USAGE =
  "gpu: pack DIR [--without-cuda] [--tensorflow cpu|cuda], or run DIR [flags of run.sh]; see docs/gpu.md";

/**
 * @typedef {object} PackOptions
 * @property {boolean} hasCuda ONNX Runtime's CUDA libraries
 * @property {"cpu" | "cuda" | undefined} tensorFlow TensorFlow's library, for that device
 */

/**
 * @param {readonly string[]} args
 * @returns {{ readonly folder: string } & ({ readonly verb: "run"; readonly flags: readonly string[] } | { readonly verb: "pack"; readonly options: PackOptions })}
 */
export function gpuOptions([verb, folder, ...flags]) {
  if ((verb !== "pack" && verb !== "run") || folder === undefined || folder.startsWith("-"))
    return fail(USAGE, 2);
  if (verb === "run") return { verb, folder: resolve(folder), flags };
  return { verb, folder: resolve(folder), options: packOptions(flags) };
}

/** @param {readonly string[]} flags @returns {PackOptions} */
function packOptions(flags) {
  const at = flags.indexOf("--tensorflow");
  const device = at < 0 ? undefined : flags[at + 1];
  const others = flags.filter((_, index) => at < 0 || (index !== at && index !== at + 1));
  if (others.some((flag) => flag !== "--without-cuda")) return fail(USAGE, 2);
  if (at >= 0 && device !== "cpu" && device !== "cuda") return fail(USAGE, 2);
  return {
    hasCuda: !others.includes("--without-cuda"),
    tensorFlow: device === "cpu" || device === "cuda" ? device : undefined,
  };
}

/** Runs an existing pack. @param {string} folder @param {readonly string[]} flags */
export function runGpu(folder, flags) {
  const { status } = spawnSync("sh", [join(folder, "run.sh"), ...flags], { stdio: "inherit" });
  return status ?? 1;
}
