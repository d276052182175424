import type { Placed } from "../definition/objective-state.js";
import type { TrainingWarning } from "../definition/warning.js";

type Warn = (warning: TrainingWarning) => void;

/** Reports each message once, and lists the reported warnings in `warnings`. */
export function eachOnce(report: Warn, warnings: TrainingWarning[]): Warn {
  return (warning) => {
    if (warnings.some((known) => known.message === warning.message)) return;
    warnings.push(warning);
    report(warning);
  };
}

/**
 * Adds an objective's name to its warnings. A loss may leave the model state to the other losses, so the warning that
 * it is not returned is passed on only once all objectives have given it.
 */
export function objectiveWarnings(objectives: readonly Placed[], warn: Warn): (of: Placed) => Warn {
  const withoutState = new Set<string>();
  return ({ objective }) => {
    if (objective === undefined) return warn;
    const { name } = objective;
    return (warning) => {
      if (warning.type !== "state")
        return warn({ ...warning, message: `objective ${name}: ${warning.message}` });
      if (withoutState.add(name).size === objectives.length) warn(warning);
    };
  };
}

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
