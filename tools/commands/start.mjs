import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../workspace/packages.mjs";
import { turbo } from "../workspace/turbo.mjs";

/** Linux's list of processors, and what it calls units that multiply bfloat16. */
const PROCESSORS = "/proc/cpuinfo";
const UNITS = /\b(avx512_bf16|amx_bf16)\b/;

/** Smaller models gain less: their products are a smaller part of the step. */
const NATIVE = ["--backend", "openvino", "--precision", "mixed_bfloat16", "--cells", "400", "--steps", "600"];
const EMULATED = ["--precision", "mixed_float16"];

/** @returns {boolean} whether OpenVINO's library is installed, by the command that fetches it */
function installsLibrary() {
  if (process.env["MP_OPENVINO"]) return true;
  if (!turbo(["build:js"], { filter: ["@mp/libopenvino..."], quiet: true })) return false;
  const command = join(root, "packages/libopenvino/bin/mp-libopenvino.js");
  // Its output does not belong among the results.
  return spawnSync(process.execPath, [command], { stdio: ["ignore", 2, 2] }).status === 0;
}

/**
 * Flags of the word model's demonstration: native bfloat16 where the processor has the units and the library can be
 * fetched, else float16 emulated by ONNX Runtime.
 * @param {readonly string[]} given the user's own flags
 * @returns {readonly string[]}
 */
export function demonstration(given) {
  const isChosen = given.some((flag) => /^(-h|--(backend|precision|help))\b/.test(flag));
  const hasUnits =
    process.arch === "x64" && existsSync(PROCESSORS) && UNITS.test(readFileSync(PROCESSORS, "utf8"));
  if (isChosen || !hasUnits) return EMULATED;
  console.error("This processor multiplies bfloat16, which OpenVINO uses: 59 MB the first time");
  if (installsLibrary()) return NATIVE;
  console.error("OpenVINO was not installed, see above: ONNX Runtime emulates float16 instead");
  return EMULATED;
}
