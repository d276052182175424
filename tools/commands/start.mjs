import { existsSync, readFileSync } from "node:fs";
import { isFresh } from "../workspace/install.mjs";
import { installLibrary } from "../workspace/install-library.mjs";
import { PartsMissing } from "../workspace/parts.mjs";
import { findApp, runApp } from "./app.mjs";

/** Linux's list of processors, and what it calls units that multiply bfloat16. */
const PROCESSORS = "/proc/cpuinfo";
const UNITS = /\b(avx512_bf16|amx_bf16)\b/;

/** Smaller models gain less: their products are a smaller part of the step. */
const NATIVE = ["--backend", "openvino", "--precision", "mixed_bfloat16", "--cells", "400", "--steps", "600"];
const EMULATED = ["--precision", "mixed_float16"];

/** @param {readonly string[]} args @param {() => void} install */
export function run(args, install) {
  const time = isFresh() ? "about three minutes in a new clone" : "about two minutes";
  console.error(`A word language model in float32, then in mixed precision: ${time} on two cores`);
  install();
  runApp(findApp("word-lm"), ["--compare", ...demonstration(args), ...args]);
}

/**
 * Flags of the word model's demonstration: native bfloat16 where the processor has the units and the library can be
 * fetched, else float16 emulated by ONNX Runtime.
 * @param {readonly string[]} given the user's own flags
 * @returns {readonly string[]}
 */
function demonstration(given) {
  const isChosen = given.some((flag) => /^(-h|--(backend|precision|help))\b/.test(flag));
  const hasUnits =
    process.arch === "x64" && existsSync(PROCESSORS) && UNITS.test(readFileSync(PROCESSORS, "utf8"));
  if (isChosen || !hasUnits) return EMULATED;
  console.error("This processor multiplies bfloat16, which OpenVINO uses: 59 MB the first time");
  if (process.env["MP_OPENVINO"] || installOpenvino()) return NATIVE;
  console.error("OpenVINO was not installed, see above: ONNX Runtime emulates float16 instead");
  return EMULATED;
}

function installOpenvino() {
  try {
    // Its output does not belong among the results.
    return installLibrary("libopenvino", "bin/mp-libopenvino.js", [], ["ignore", 2, 2]);
  } catch (error) {
    if (error instanceof PartsMissing) return false;
    throw error;
  }
}
