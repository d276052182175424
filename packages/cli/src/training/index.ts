// `@mp/cli/training`: the apps' common flags as a backend, a precision and a loop.
export { backendOf } from "./backend.js";
export { lossScaleName, precisionOf } from "./precision.js";
export { type BatchSource, type TrainingLoop, type TrainingRecord, train } from "./train.js";
