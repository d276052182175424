// `@mp/cli/training`: turns the apps' common flags into backends, precisions, loops, results and tables.

export { columnTable, textTable } from "../text-table.js";
export { type AblatedOptions, ablate } from "./ablation.js";
export { backendOf, onBackend } from "./backend.js";
export { firstBatch } from "./first-batch.js";
export { type FitByFlags, fitByFlags, type TrainingRecord } from "./fit-by-flags.js";
export { formatKinds, type KindTableOptions, metricOf } from "./kind-table.js";
export { differences, moments, signedSpread, spread } from "./moments.js";
export { onRanks, type RankRun, ranksFlag } from "./on-ranks.js";
export { operandBytes } from "./operand-bytes.js";
export type { OperatorRow, OperatorTable, OperatorTableOptions, OperatorWork } from "./operator-table.js";
export { formatOperatorTable, operatorTable } from "./operator-table.js";
export type { Finished, Kind, SeededOptions } from "./over-seeds.js";
export { refuseBeside, seedsFlag } from "./over-seeds.js";
export { plainOptions } from "./plain.js";
export { type PointBatch, pointBatch, pointBatches, unseenPoints } from "./points.js";
export { precisionKinds } from "./precision-table.js";
export { type ResultParts, resultOf } from "./result-of.js";
export { onEngine, type Run, refuseData, refuseOutput, stepFlops, trainerOptions } from "./run.js";
export { type Outcome, type Runs, runOnceOrCompare } from "./run-once-or-compare.js";
export { statesFlag } from "./states.js";
export {
  ONE_RUN_FLAGS,
  refuseOneRunFlags,
  type TrainByFlags,
  tableFlags,
  trainByFlags,
} from "./train-by-flags.js";
export { type KindTable, type ManyRuns, trainMany } from "./train-many.js";
