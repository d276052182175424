import type { Placed } from "../definition/objective-state.js";
import type { TrainingWarning } from "../definition/warning.js";

type Warn = (warning: TrainingWarning) => void;

/**
 * Adds an objective's name to its warnings. A loss may leave the model state to the others, so that one does not return
 * it is only a warning where none does.
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
