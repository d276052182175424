import type { DeviceName, LossScaleName, MasterWeightsName } from "./common-flags.js";

/** The object that `--json` writes for one run. Values that were not measured are null. */
export interface RunResult {
  readonly app: string;
  /** Name of the backend: a value of `--backend`, or the name of a custom one. */
  readonly backend: string;
  readonly device: DeviceName | "other";
  readonly engine: { readonly name: string; readonly version: string };
  /** Name of the precision. */
  readonly precision: string;
  readonly lossScale: LossScaleName;
  readonly masterWeights: MasterWeightsName;
  readonly seed: number;
  /** Steps since the start of the run, applied and skipped. */
  readonly steps: number;
  readonly applied: number;
  readonly skipped: number;
  /** Always 1 without loss scaling. */
  readonly finalScale: number;
  /** Loss of each step of this run, in order. */
  readonly loss: readonly number[];
  /** The run's figure of merit, such as perplexity on held-out text. */
  readonly metric: { readonly name: string; readonly value: number };
  /** Null for a run that was stopped before its first step. */
  readonly msPerStep: StepTimes | null;
  readonly flopsPerSecond: number | null;
  readonly peakMemoryBytes: number | null;
  /** Warnings about what the engine emulated; empty if everything was native. */
  readonly emulated: readonly string[];
  /** Further data of this app, such as a hash of its training data, or tables. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface StepTimes {
  readonly min: number;
  readonly median: number;
}

/** The object that `--json` writes with `--compare`: both runs from the same initial state. */
export interface Comparison {
  readonly float32: RunResult;
  readonly mixed: RunResult;
  /** Median step time of float32 divided by that of the mixed run; null unless both made a step. */
  readonly speedup: number | null;
  /** Peak memory of the mixed run divided by that of float32; null unless both were measured. */
  readonly memoryRatio: number | null;
}

/** Statistics of step times in milliseconds; null for an empty list. */
export function stepTimes(milliseconds: readonly number[]): StepTimes | null {
  const sorted = [...milliseconds].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const lower = sorted[Math.floor(middle)];
  const upper = sorted[Math.ceil(middle)];
  if (lower === undefined || upper === undefined) return null;
  return { min: sorted[0] ?? lower, median: (lower + upper) / 2 };
}

/** Compares time and memory of two runs in one process. */
export function compareRuns(float32: RunResult, mixed: RunResult): Comparison {
  const before = float32.peakMemoryBytes;
  const after = mixed.peakMemoryBytes;
  const [slower, faster] = [float32.msPerStep, mixed.msPerStep];
  return {
    float32,
    mixed,
    speedup: slower === null || faster === null ? null : slower.median / faster.median,
    memoryRatio: before === null || after === null ? null : after / before,
  };
}
