/** `@mp/core/report`: a trainer's reports on its precision as data, and functions that make and compare them. */

// Casts
export {
  explainCasts,
  formatCastReport,
  diffCastReports,
  type CastReport,
  type CastExplanation,
  type CastDifference,
} from "../cast/explain.js";
export type { CastLint, CastLintRule } from "../cast/lint.js";
export type { CastRule } from "../cast/cast-decision.js";

// Ranges and memory
export { addHistograms, type ExponentHistogram } from "../train/report/counts/exponent-counts.js";
export { shareAtScale, type ScaleShare } from "../train/report/scale-shares.js";
export type {
  PrecisionReport,
  ReportOptions,
  GroupHistogram,
  GradientRange,
} from "../train/report/report.js";
export { type RecipeReport, survives } from "../train/report/recipe-report.js";
export type { OperandStatistics } from "../quantize/statistics.js";
export type { StateTensor } from "../train/report/optimizer-state.js";
export type { ValueGroup, ValueKind } from "../train/report/counts/value-groups.js";
export { planMemory, type PlannedMemory, type PlannedStep } from "../train/report/plan-memory.js";
export type { StepMemory, MemoryKinds } from "../train/report/memory-kinds.js";

// Whole data sets
export type { EvaluateAllOptions, EvaluateAllMetricsOptions } from "../train/data/evaluate-all.js";
export type { DatasetEvaluation } from "../train/metrics/evaluation-result.js";
export type { StreamedMetric, StreamedMetrics, StreamedValues } from "../train/metrics/streamed-metric.js";

// Skipped steps
export { shareUnchanged } from "../train/diagnosis/replay.js";
export type { Diagnosis } from "../train/diagnosis/diagnose.js";
export type { DiagnosisCause } from "../train/diagnosis/advice.js";
export type { Remedy } from "../train/diagnosis/remedies.js";
export type { TensorUpdates } from "../train/definition/result.js";
export type { Attribution } from "../train/diagnosis/attribution.js";
