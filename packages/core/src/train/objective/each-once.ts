import type { TrainingWarning } from "../definition/warning.js";

/** Reports each message once, and lists the reported warnings in `warnings`. */
export function eachOnce(
  report: (warning: TrainingWarning) => void,
  warnings: TrainingWarning[],
): (warning: TrainingWarning) => void {
  return (warning) => {
    if (warnings.some((known) => known.message === warning.message)) return;
    warnings.push(warning);
    report(warning);
  };
}
