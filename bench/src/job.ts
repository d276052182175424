/** Requests to a fresh process and its answers, as JSON: all that our programs and the peers' agree on. */
import type { OperatorTable } from "@mp/cli/training";
import type { SizedWorkload } from "./workloads/workloads.js";

export const PRECISIONS = [
  "float32",
  "mixed_bfloat16",
  "mixed_float16",
  "float8",
  "float8_bfloat16",
] as const;
export type PrecisionName = (typeof PRECISIONS)[number];
export const ENGINES = ["ort", "tfjs", "openvino", "xla"] as const;
export type EngineName = (typeof ENGINES)[number];
export const DEVICES = ["cpu", "cuda", "webgpu"] as const;
export type DeviceName = (typeof DEVICES)[number];
/** The peers' programs in `peers/`, and additional fields of their jobs. */
export const PEERS = {
  torch: { script: "torch_step.py", job: {} },
  "torch-compile": { script: "torch_step.py", job: { compile: true } },
  keras: { script: "keras_step.py", job: {} },
} as const;
export type PeerName = keyof typeof PEERS;

/** The engine of ours to measure, and where it runs. */
export interface EngineChoice {
  readonly engine: EngineName;
  readonly device: DeviceName;
  readonly threads: number;
  /** Options of ONNX Runtime on CUDA, such as `tf32`. */
  readonly cuda?: Readonly<Record<string, unknown>>;
  /** Whether XLA on CUDA calls cuDNN's attention where it has kernels. */
  readonly flashAttention?: boolean;
}

/** Asks to time steps of one workload. */
export interface StepJob extends SizedWorkload {
  readonly precision: PrecisionName;
  readonly threads: number;
  /** Steps before the timed ones. */
  readonly warmup: number;
  /** Largest number of steps to time. */
  readonly steps: number;
  /** Time limit: timing ends after this many seconds, once three steps have been timed. */
  readonly seconds: number;
}

export interface StepReport {
  readonly milliseconds: readonly number[];
  /** Losses of every step, including the warm-up. */
  readonly losses: readonly number[];
  /** Seconds from the start of building to the end of the warm-up. */
  readonly startSeconds: number;
  readonly peakResidentBytes: number;
  /** Cores that other processes used while steps were timed; null if the system does not report it. */
  readonly otherCores: number | null;
  readonly versions: Readonly<Record<string, string>>;
}

/** Our own report, with the workload's title and its floating-point operations. */
export interface OwnStepReport extends StepReport {
  readonly title: string;
  readonly matrixFlops: number;
}

/** A step's time by operator from the engine's profile, or the reason why there is none. */
export type ProfileReport = { readonly table: OperatorTable } | { readonly unsupported: string };

/** Figures of one scenario's part, by name. */
export interface ScenarioReport {
  readonly figures: Readonly<Record<string, number>>;
  readonly otherCores: number | null;
  readonly versions: Readonly<Record<string, string>>;
}

export type ChildJob =
  | { readonly kind: "steps"; readonly job: StepJob; readonly choice: EngineChoice }
  | {
      readonly kind: "profile";
      readonly workload: SizedWorkload;
      readonly precision: PrecisionName;
      readonly choice: EngineChoice;
      readonly quick: boolean;
    }
  | {
      readonly kind: "scenario";
      readonly scenario: string;
      readonly part: string;
      readonly choice: EngineChoice;
      /** Whether to do only a few steps, as a smoke test. */
      readonly quick: boolean;
    };

/** The answer of a process that cannot do its job. */
export interface Refusal {
  readonly error: string;
  /** The error's code, if it has one: `MP_OUT_OF_MEMORY`. */
  readonly code?: string;
}
