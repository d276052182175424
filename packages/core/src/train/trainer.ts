import type { Backend, BackendWarning } from "../backend.js";
import { MpError } from "../errors.js";
import type { Graph } from "../graph/graph.js";
import type { HostTensor } from "../host-tensor.js";
import type { Optimizer } from "../optim/optimizer.js";
import type { TensorTree } from "../trace/map-tensors.js";
import { key } from "../trace/random.js";
import type { Tensor } from "../trace/tensor.js";
import type { MapLeaves } from "../tree.js";
import type { Json } from "./checkpoint.js";
import type { AnyLoss, StepDefinition } from "./definition.js";
import type { AnyBatch, Fed, LossContext, LossFunction, Traced } from "./loss.js";
import { mixed, type Precision, type PrecisionChoice } from "./precision.js";
import { type AllReduce, TrainingRun } from "./run.js";

export interface TrainerOptions<P, B, M> {
  readonly backend: Backend;
  /** Initial parameters: a tree of f32 host tensors. */
  readonly params: P;
  readonly loss: LossFunction<P, B, M>;
  readonly optimizer: Optimizer;
  /** Default `mixed()`: what the backend computes natively. */
  readonly precision?: PrecisionChoice;
  /** Initial `context.modelState`. */
  readonly modelState?: M;
  /** Names all randomness of the run; default 0. */
  readonly seed?: number;
  /** Scales gradients down to this global norm; drawn together with unscaling into one multiplication. */
  readonly clipNorm?: number;
  /** Microbatches per step, default 1; `step` then takes that many batches. */
  readonly accumulate?: number;
  /** Combines a window's gradients with those of other processes. */
  readonly allReduce?: AllReduce;
  /** `retry` runs the same batch with the same randomness again at the lower scale. Default `skip`. */
  readonly onOverflow?: "skip" | "retry";
  /** Retries of one batch before it is skipped; default 100. */
  readonly maxRetries?: number;
  /** Skipped steps in a row that are tolerated; the next throws MP_NON_FINITE with the culprit. Default 50. */
  readonly maxConsecutiveSkips?: number;
  /** Also refuse steps whose new parameters or optimizer state would not be finite. */
  readonly checkNewParameters?: boolean;
  /** Told of each soft degradation once; default prints it to stderr. */
  readonly onWarning?: (warning: BackendWarning) => void;
}

export interface StepResult {
  /** Mean over the microbatches; not finite when the forward pass was not. */
  readonly loss: number;
  /** False: parameters, optimizer and model state are what they were. */
  readonly applied: boolean;
  /** The loss scale of this step. */
  readonly scale: number;
  /** Norm of all unscaled gradients, before clipping. */
  readonly gradNorm: number;
  readonly metrics: Readonly<Record<string, number>>;
  /** How often this batch overflowed and was run again. */
  readonly retries: number;
}

export interface Evaluation {
  readonly loss: number;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface Counters {
  /** Applied steps: what schedules and Adam count. */
  readonly applied: number;
  readonly iteration: number;
  readonly skipped: number;
  readonly scale: number;
}

export interface Trainer<P, B, M> {
  readonly precision: Precision;
  readonly warnings: readonly BackendWarning[];
  /**
   * One step on one batch, or on as many as `accumulate` says.
   * @throws MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH naming the input or the loss's line;
   * MP_NON_FINITE after too many skips in a row; MP_DISPOSED
   */
  step(...batches: readonly Fed<B>[]): Promise<StepResult>;
  /** Loss and metrics with `training` false, from the run's model state or the given one; changes nothing. */
  evaluate(
    batch: Fed<B>,
    options?: { readonly modelState?: M },
  ): Promise<Evaluation & { readonly modelState: M }>;
  /** Any function of parameters and data under the same casting policy. */
  predict<D, R extends TensorTree>(
    predict: (parameters: Traced<P>, data: D, context: LossContext<Traced<M>>) => R,
    data: Fed<D>,
  ): Promise<MapLeaves<R, Tensor, HostTensor>>;
  /** The parameters in f32. */
  parameters(): Promise<P>;
  modelState(): Promise<M>;
  counters(): Promise<Counters>;
  /** One safetensors file: masters, optimizer, model and scaler state, counters and the data cursor. */
  save(path: string, options?: { readonly cursor?: Json }): Promise<void>;
  /** Resumes bit for bit; gives the cursor back. Nothing is loaded from a file that does not fit. */
  load(path: string): Promise<Json>;
  /** The step as the engine gets it for such batches. */
  graph(...batches: readonly Fed<B>[]): Graph;
  dispose(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Builds a training run: parameters go to the engine, the loss is traced at the first step of each batch
 * shape, and from then on a step moves a batch in and a few numbers out.
 * @example
 * ```ts
 * const training = await trainer({ backend, params, loss, optimizer: adamW({ learningRate: 1e-3 }), precision: mixed() });
 * const { loss, applied, scale } = await training.step({ x, y });
 * ```
 * @throws MP_INVALID_ARGUMENT for options out of range, MP_DTYPE_MISMATCH for parameters that are not f32
 */
export async function trainer<P, B = AnyBatch, M = Readonly<Record<never, never>>>(
  options: TrainerOptions<P, B, M>,
): Promise<Trainer<P, B, M>> {
  const { backend } = options;
  const choice = options.precision ?? mixed();
  const precision = typeof choice === "function" ? choice(backend.manifest) : choice;
  const definition: StepDefinition = {
    loss: options.loss as unknown as AnyLoss,
    optimizer: options.optimizer,
    precision,
    manifest: backend.manifest,
    key: key(options.seed ?? 0),
    clipNorm: options.clipNorm,
    accumulate: options.accumulate ?? 1,
    onOverflow: options.onOverflow ?? "skip",
    maxRetries: options.maxRetries ?? 100,
    checkNewParameters: options.checkNewParameters ?? false,
  };
  const maxConsecutiveSkips = options.maxConsecutiveSkips ?? 50;
  const counts = {
    accumulate: definition.accumulate,
    maxRetries: definition.maxRetries,
    maxConsecutiveSkips,
  };
  for (const [name, count] of Object.entries(counts)) {
    if (Number.isInteger(count) && count >= 1 && count < 2 ** 31) continue;
    throw new MpError("MP_INVALID_ARGUMENT", `trainer: ${name} is an integer of 1 or more, got ${count}`);
  }
  if (definition.clipNorm !== undefined && !(definition.clipNorm > 0)) {
    throw new MpError("MP_INVALID_ARGUMENT", `trainer: clipNorm is above 0, got ${definition.clipNorm}`);
  }
  const run = await TrainingRun.start({
    backend,
    definition,
    parameters: options.params,
    modelState: options.modelState ?? {},
    allReduce: options.allReduce,
    maxConsecutiveSkips,
    onWarning: options.onWarning ?? printWarning,
  });
  return run as unknown as Trainer<P, B, M>;
}

function printWarning(warning: BackendWarning): void {
  console.warn(`[mp] ${warning.message}`);
}
