/** Messages between the page and its worker: plain data. */

export const RUNS = ["float32", "float16"] as const;
/** The precision of a run. */
export type RunName = (typeof RUNS)[number];

export type ToWorker =
  | { readonly type: "open"; readonly engine: "webgpu" | "reference" }
  | { readonly type: "train" | "pause" }
  | { readonly type: "report" }
  | { readonly type: "checkpoint"; readonly run: RunName }
  /** An image as `paint` makes it. */
  | { readonly type: "classify"; readonly image: Float32Array };

/** The device that a run computes on, for the page. */
export interface OpenedRun {
  readonly engine: string;
  /** The reason why the run is not on the GPU, if so. */
  readonly remark: string | undefined;
}

export interface Step {
  readonly run: RunName;
  /** The step's number; the first step is 1. */
  readonly step: number;
  readonly loss: number;
  readonly scale: number;
  readonly applied: boolean;
  readonly milliseconds: number;
}

/** The ranges of one batch's gradients in the float16 run. */
export interface GradientSummary {
  readonly step: number;
  readonly scale: number;
  readonly recommendedScale: number | null;
  /** Fractions of the nonzero gradients that f16 loses, at scale 1 and at the run's scale. */
  readonly shares: readonly {
    readonly scale: number;
    readonly zero: number;
    readonly subnormal: number;
    readonly overflow: number;
  }[];
  /** Gradients by binary exponent, at scale 1. */
  readonly first: number;
  readonly counts: readonly number[];
}

export type FromWorker =
  | { readonly type: "opened"; readonly runs: Readonly<Record<RunName, OpenedRun>> }
  | ({ readonly type: "step" } & Step)
  | { readonly type: "accuracy"; readonly run: RunName; readonly step: number; readonly accuracy: number }
  | { readonly type: "paused" }
  | { readonly type: "report"; readonly gradients: GradientSummary }
  | {
      readonly type: "checkpoint";
      readonly run: RunName;
      readonly step: number;
      readonly bytes: Uint8Array<ArrayBuffer>;
    }
  /** Probabilities of the ten digits. */
  | { readonly type: "classified"; readonly run: RunName; readonly probabilities: readonly number[] }
  | { readonly type: "failed"; readonly message: string };
