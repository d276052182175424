// The command line

export type { AppDefinition, AppOptions, OptionsOf, ParsedCommandLine } from "./command-line.js";
export { defineApp, parseCommandLine } from "./command-line.js";
export type {
  BackendName,
  CommonOptions,
  DeviceName,
  LossScaleName,
  MasterWeightsName,
  OnOverflow,
  PrecisionName,
} from "./common-flags.js";
export type { Flag, Flags, FlagValues } from "./flag.js";
export { choice, FlagError, flagName, integer, number, text, toggle } from "./flag.js";
// Results
export { formatComparison, formatRun } from "./format-result.js";
// The run
export type { Comparison, RunResult, StepTimes } from "./result.js";
export { compareRuns, stepTimes } from "./result.js";
export type { AppContext } from "./run-app.js";
export { runApp, UsageError } from "./run-app.js";
export { writeResult } from "./write-result.js";
