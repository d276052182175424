import type { Placed } from "../definition/objective-state.js";
import type { TrainingWarning } from "../definition/warning.js";

type Warn = (warning: TrainingWarning) => void;

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
