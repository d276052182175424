/** `@mp/callbacks`: callbacks for `fit`, which takes a list of them as `callbacks`. */

// Checkpoints

export type { AnyCallback } from "./any-callback.js";
export { type KeepBest, type KeepBestOptions, keepBest } from "./checkpoints/keep-best.js";
export { latestCheckpoint, type RotateOptions, rotate } from "./checkpoints/rotate.js";
export { type SaveOnSignal, type StopSignal, saveOnSignal } from "./checkpoints/save-on-signal.js";

// Logs

export { csvLog } from "./log/csv-log.js";
export { jsonLinesLog } from "./log/json-lines-log.js";
export type { LogOptions } from "./log/log-rows.js";
export { type MlflowOptions, mlflow } from "./mlflow/mlflow.js";
export { type HistogramsOptions, type TensorBoardOptions, tensorBoard } from "./tensor-board/tensor-board.js";

// Following a number of the run

export { type EarlyStopping, type EarlyStoppingOptions, earlyStopping } from "./monitor/early-stopping.js";
export type { Best, MonitorOptions } from "./monitor/is-better.js";
export { type ReduceOnPlateauOptions, reduceOnPlateau } from "./monitor/reduce-on-plateau.js";

// A learning rate to begin with

export {
  type FindLearningRateOptions,
  findLearningRate,
  type LearningRateRange,
  type TestedTrainer,
} from "./rate/find-learning-rate.js";

// Progress

export { type ProgressOptions, progress } from "./progress/progress.js";
export {
  type ProgressDisplay,
  type ProgressDisplayOptions,
  type ProgressStream,
  progressDisplay,
} from "./progress/progress-display.js";
export type { ProgressUpdate } from "./progress/progress-line.js";
