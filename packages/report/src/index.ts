export { historyChart } from "./charts/history-chart.js";
export type { HistoryStep } from "./history-step.js";
export type { CompiledForGpu } from "./sections/compiled.js";
export type { ReportedRun } from "./sections/page.js";
export { precisionReportPage } from "./sections/page.js";
export type { SkippedStep } from "./sections/skips.js";
