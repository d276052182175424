/**
 * `npm start`: the word model in float32 and in mixed precision, side by side, on an engine that multiplies bfloat16
 * where this processor does.
 */
import { existsSync, readFileSync } from "node:fs";
import { halfUnits } from "@mp/core/probe";
import { runWordModelApp } from "../app.js";
import { fetchLibrary, findLibrary, openLibrary } from "./library.js";
import { nextStep } from "./next-step.js";

const PROCESSOR = "/proc/cpuinfo";
const given = process.argv.slice(2);

async function flags(): Promise<readonly string[]> {
  const hasUnits =
    existsSync(PROCESSOR) && halfUnits("cpu", readFileSync(PROCESSOR, "utf8")).includes("bf16");
  let library = findLibrary();
  for (;;) {
    const step = nextStep(hasUnits, library);
    if (step.line !== undefined) console.error(step.line);
    if (step.do === "run") return step.flags;
    library = await (step.do === "fetch" ? fetchLibrary : openLibrary)();
  }
}

/** An engine in the flags is a choice, and help needs none. */
const isChosen = given.some((flag) => /^(?:--backend|--device|--precision|--help|-h$)/.test(flag));
await runWordModelApp([
  "--compare",
  ...(isChosen ? ["--precision", "mixed_float16"] : await flags()),
  ...given,
]);
