export type { ReportedRun } from "./page.js";
export { precisionReportPage } from "./page.js";
export type { HistoryStep } from "./plots/history.js";
export type { SkippedStep } from "./sections/skips.js";
