import { choice, type Flag, FlagError, integer, number, text, toggle } from "./flag.js";

export const BACKENDS = ["ort", "tfjs", "openvino", "xla", "reference"] as const;
export const DEVICES = ["cpu", "cuda", "webgpu"] as const;
export const PRECISIONS = [
  "mixed",
  "float32",
  "mixed_float16",
  "mixed_bfloat16",
  "float16",
  "bfloat16",
  "float8",
  "mxfp8",
  "mxfp4",
  "nvfp4",
] as const;
export const MASTER_WEIGHTS = ["f32", "none", "kahan", "stochastic"] as const;
export const ON_OVERFLOW = ["skip", "retry"] as const;

export type BackendName = (typeof BACKENDS)[number];
export type DeviceName = (typeof DEVICES)[number];
export type PrecisionName = (typeof PRECISIONS)[number];
export type MasterWeightsName = (typeof MASTER_WEIGHTS)[number];
export type OnOverflow = (typeof ON_OVERFLOW)[number];
/** A way to scale the loss; a number is the static scale. */
export type LossScaleName = "none" | "dynamic" | number;

const lossScale: Flag<LossScaleName | undefined> = {
  help: "how the loss is scaled; without it, as the precision needs",
  argument: "none|dynamic|S",
  default: undefined,
  parse: (value) => {
    if (value === "none" || value === "dynamic") return value;
    const scale = value.trim() === "" ? Number.NaN : Number(value);
    if (!Number.isFinite(scale) || scale <= 0) {
      throw new FlagError("expected none, dynamic or a number above 0");
    }
    return scale;
  },
};

/** The values of the flags that all apps share. */
export interface CommonOptions {
  readonly backend: BackendName;
  readonly device: DeviceName;
  readonly precision: PrecisionName;
  /** Undefined if the precision decides. */
  readonly lossScale: LossScaleName | undefined;
  readonly initialScale: number | undefined;
  readonly masterWeights: MasterWeightsName;
  readonly onOverflow: OnOverflow;
  readonly accumulate: number;
  readonly checkpointing: boolean;
  /** Last step, counted from the start of the run, also after a resume. */
  readonly steps: number;
  readonly seed: number;
  readonly data: string | undefined;
  readonly compare: boolean;
  readonly save: string | undefined;
  readonly resume: string | undefined;
  readonly json: string | undefined;
  readonly report: string | undefined;
  readonly log: string | undefined;
}

/** Limit of microbatches per step, because all of them are in memory at once, as arguments of one call. */
const MOST_MICROBATCHES = 2 ** 16;

/** The flags that every app has. */
export const commonFlags: { readonly [K in keyof CommonOptions]: Flag<CommonOptions[K]> } = {
  backend: choice(BACKENDS, { default: "ort", help: "the engine that runs the training step" }),
  device: choice(DEVICES, { default: "cpu", help: "where it runs; webgpu is any GPU, on ort" }),
  precision: choice(PRECISIONS, {
    default: "mixed",
    help: "mixed is what the engine computes natively, the last four are emulated",
  }),
  lossScale,
  initialScale: number({ min: Number.MIN_VALUE, help: "first scale of the dynamic loss scale" }),
  masterWeights: choice(MASTER_WEIGHTS, { default: "f32", help: "how parameters are kept and updated" }),
  onOverflow: choice(ON_OVERFLOW, { default: "skip", help: "skip the batch, or retry it at a lower scale" }),
  accumulate: integer({ default: 1, max: MOST_MICROBATCHES, help: "microbatches per step" }),
  checkpointing: toggle({ help: "recompute activations in the backward pass, for less memory" }),
  steps: integer({ default: 100, help: "training steps, counted from the very start" }),
  seed: integer({ default: 42, min: 0, help: "of initial values, dropout and shuffling" }),
  data: text({ argument: "DIR", help: "read the real files there; without it, small data that needs none" }),
  compare: toggle({ help: "run float32 and the precision from the same start, side by side" }),
  save: text({ argument: "FILE", help: "save the state there, every 100 steps and at the end" }),
  resume: text({ argument: "FILE", help: "go on from a saved state" }),
  json: text({ argument: "FILE", help: "write the result there as JSON" }),
  report: text({ argument: "FILE", help: "write the precision report there, one HTML page" }),
  log: text({ argument: "DIR", help: "write event files there, for TensorBoard" }),
};
