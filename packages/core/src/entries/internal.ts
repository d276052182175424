/** `@mp/core/internal`: for the generation of text, until it takes a predictor of its own. */

export { StatefulRun, type StatefulFunction } from "../predict/stateful-run.js";
export { backendPart, parametersPart, signalPart } from "../train/batch/check-parts.js";
export { printWarning } from "../train/objective/print-warning.js";
