/** Requests to a fresh process and its answers, as JSON: the only contract between all sides. */

export const PRECISIONS = ["float32", "mixed_bfloat16", "mixed_float16"] as const;
export type PrecisionName = (typeof PRECISIONS)[number];
export const WORKLOADS = ["w1", "w2", "w3", "w4", "w2-1536"] as const;
export type WorkloadName = (typeof WORKLOADS)[number];
export const ENGINES = ["ort", "tfjs"] as const;
export type EngineName = (typeof ENGINES)[number];
export const PEERS = ["torch", "keras"] as const;
export type PeerName = (typeof PEERS)[number];

/** Which of our engines is measured, and where it runs. */
export interface EngineChoice {
  readonly engine: EngineName;
  readonly device: string;
  readonly threads: number;
}

/** Time steps of one workload. */
export interface StepJob {
  readonly workload: WorkloadName;
  readonly precision: PrecisionName;
  readonly threads: number;
  /** Steps before the timed ones. */
  readonly warmup: number;
  /** Timed steps, at most. */
  readonly steps: number;
  /** Timing ends after this long, once three steps have been timed. */
  readonly seconds: number;
}

export interface StepReport {
  readonly milliseconds: readonly number[];
  /** Losses of every step, including the warm-up. */
  readonly losses: readonly number[];
  /** From when the process starts building to the end of the warm-up. */
  readonly startSeconds: number;
  readonly peakResidentBytes: number;
  /** Cores that other processes used while steps were timed; null where the system does not report it. */
  readonly otherCores: number | null;
  readonly versions: Readonly<Record<string, string>>;
}

/** Figures of one scenario's part, by name. */
export interface ScenarioReport {
  readonly figures: Readonly<Record<string, number>>;
  /** Lines to print with them. */
  readonly text?: string;
  readonly otherCores: number | null;
  readonly versions: Readonly<Record<string, string>>;
}

export type ChildJob =
  | { readonly kind: "steps"; readonly job: StepJob; readonly choice: EngineChoice }
  | {
      readonly kind: "scenario";
      readonly scenario: string;
      readonly part: string;
      readonly choice: EngineChoice;
      /** A hundredth of the work, as a smoke test. */
      readonly quick: boolean;
    };

/** The process's answer that it could not do the job. */
export interface Refusal {
  readonly error: string;
}
