// `@mp/cli/training`: the apps' common flags as a backend, a precision and a loop.
export { backendOf } from "./backend.js";
export { withHalfReductions } from "./half-reductions.js";
export type { OperatorRow, OperatorTable, OperatorTableOptions, OperatorWork } from "./operator-table.js";
export { formatOperatorTable, operatorTable } from "./operator-table.js";
export { lossScaleName, precisionOf } from "./precision.js";
export { textTable } from "./text-table.js";
export { type BatchSource, type TrainingLoop, type TrainingRecord, train } from "./train.js";
