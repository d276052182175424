import type { TrainingWarning } from "../definition/warning.js";

/** Types of warnings about the engine. They do not change between runs, so they are shown once per process. */
const OF_THE_ENGINE: ReadonlySet<TrainingWarning["type"]> = new Set(["emulated", "fallback", "performance"]);
const printed = new Set<string>();

/** Prints a warning to stderr; a warning about the engine only once per process. */
export function printWarning({ type, message }: TrainingWarning): void {
  if (OF_THE_ENGINE.has(type)) {
    if (printed.has(message)) return;
    printed.add(message);
  }
  console.warn(`[mp] ${message}`);
}
