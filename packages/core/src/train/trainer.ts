import type { Backend, ProfileRow } from "../backend.js";
import { MpError } from "../errors.js";
import type { Graph } from "../graph/graph.js";
import type { HostTensor } from "../host-tensor.js";
import { checkHyperparameter } from "../optim/hyperparameter.js";
import type { Optimizer } from "../optim/optimizer.js";
import { checkOptions, type OptionNames } from "../options.js";
import type { Overflow } from "../precision-report/replay.js";
import type { PrecisionReport } from "../precision-report/report.js";
import { shown } from "../shown.js";
import type { TensorTree } from "../trace/map-tensors.js";
import { key } from "../trace/random.js";
import type { Tensor } from "../trace/tensor.js";
import { expectHalf } from "../transform/cast-plan.js";
import type { CastReport } from "../transform/explain-casts.js";
import type { MapLeaves } from "../tree.js";
import { checkParts, checkPrecision } from "./check-parts.js";
import type { TrainingData } from "./data-source.js";
import type { AnyLoss, StepDefinition } from "./definition.js";
import type { Attribution } from "./diagnose.js";
import type { FeedingOptions, FitOptions, FitResult } from "./fit.js";
import { type FrozenMask, frozenPaths } from "./frozen.js";
import type { Json } from "./json.js";
import type { LazyStep } from "./lazy-step.js";
import type { AnyBatch, Fed, FedBatch, LossContext, LossFunction, Traced } from "./loss.js";
import { mixed, type Precision, type PrecisionChoice } from "./precision.js";
import { TrainingRun } from "./run.js";
import type { Counters, Evaluation, StepResult } from "./step-result.js";
import type { TrainingWarning } from "./warning.js";
import type { AllReduce } from "./window.js";

export interface TrainerOptions<P, B, M, K extends string = string> {
  readonly backend: Backend;
  /** Initial parameters: a tree of f32 host tensors. */
  readonly params: P;
  readonly loss: LossFunction<NoInfer<P>, B, NoInfer<M>, K>;
  readonly optimizer: Optimizer;
  /** Default `mixed()`: what the backend computes natively. */
  readonly precision?: PrecisionChoice;
  /** Initial `context.modelState`. */
  readonly modelState?: M;
  /** Parameters that stay as they are, `true` at a leaf or a subtree; they take no gradient and no optimizer state. */
  readonly frozen?: FrozenMask<P>;
  /** Names all randomness of the run; default 0. */
  readonly seed?: number;
  /** Scales gradients down to this global norm; drawn together with unscaling into one multiplication. */
  readonly clipNorm?: number;
  /** Microbatches per step, default 1; `step` then takes that many batches. */
  readonly accumulate?: number;
  /** Combines a window's gradients with those of other processes. */
  readonly allReduce?: AllReduce;
  /**
   * `retry` runs the same batch with the same randomness again at the lower scale, until the scaler comes to rest
   * or `maxRetries` are spent. Default `skip`.
   */
  readonly onOverflow?: "skip" | "retry";
  /** Retries of one batch before it is skipped; default 100. */
  readonly maxRetries?: number;
  /** Skipped steps in a row that are tolerated; the next throws MP_NON_FINITE with the culprit. Default 50. */
  readonly maxConsecutiveSkips?: number;
  /** Also refuse steps whose new parameters or optimizer state would not be finite. */
  readonly checkNewParameters?: boolean;
  /**
   * Gives a window up between two microbatches: the step rejects with the signal's reason, and nothing has changed.
   * A step of one batch is not stopped.
   */
  readonly signal?: AbortSignal;
  /** Told of each soft degradation once; default prints it to stderr. */
  readonly onWarning?: (warning: TrainingWarning) => void;
}

const TRAINER: OptionNames<TrainerOptions<unknown, unknown, unknown>> = {
  backend: true,
  params: true,
  loss: true,
  optimizer: true,
  precision: true,
  modelState: true,
  frozen: true,
  seed: true,
  clipNorm: true,
  accumulate: true,
  allReduce: true,
  onOverflow: true,
  maxRetries: true,
  maxConsecutiveSkips: true,
  checkNewParameters: true,
  signal: true,
  onWarning: true,
};

export interface Trainer<P, B, M, K extends string = string> {
  readonly precision: Precision;
  readonly warnings: readonly TrainingWarning[];
  /**
   * One step on one batch, or on as many as `accumulate` says. The data must not change until it resolves; calls
   * that are not awaited run one after the other.
   * @throws MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH naming the input or the loss's line;
   * MP_NOT_DIFFERENTIABLE for a loss that no gradient leads from to any parameter; MP_NON_FINITE after too many skips
   * in a row; MP_DISPOSED; the reason of `signal`
   */
  step<D extends object>(...batches: readonly FedBatch<B, D>[]): Promise<StepResult<K>>;
  /**
   * Steps through the data, and knows the place in it: what `save` writes meanwhile or afterwards lets a run that
   * loads it go on with the next batch.
   * @throws as `step`; what `onStep` or the data throws
   */
  fit<D extends object>(
    data: TrainingData<FedBatch<B, D>>,
    options?: FitOptions<K, FedBatch<B, D>>,
  ): Promise<FitResult>;
  /**
   * The pass under way, or the next one, step by step: each is handed out as it starts, and its numbers can be asked
   * for while it is one of the last nine. Keeps the place in the data as `fit` does.
   */
  steps<D extends object>(
    data: TrainingData<FedBatch<B, D>>,
    options?: FeedingOptions,
  ): AsyncGenerator<LazyStep<K>, undefined>;
  /** Loss and metrics with `training` false, from the run's model state or the given one; changes nothing. */
  evaluate<D extends object>(
    batch: FedBatch<B, D>,
    options?: { readonly modelState?: M },
  ): Promise<Evaluation<K> & { readonly modelState: M }>;
  /** Any function of parameters and data under the same casting policy; compiled once per function object. */
  predict<D, R extends TensorTree>(
    predict: (parameters: Traced<P>, data: D, context: LossContext<Traced<M>>) => R,
    data: Fed<D>,
  ): Promise<MapLeaves<R, Tensor, HostTensor>>;
  /** A copy of the parameters as the calls before leave them, in f32 whatever they are kept in, frozen ones included. */
  parameters(): Promise<P>;
  modelState(): Promise<M>;
  counters(): Promise<Counters>;
  /**
   * One safetensors file: masters, optimizer, model and scaler state, counters and the place in the data. After `step`
   * that place is the caller's to give. @throws MP_IO; the old file then still stands
   */
  save(path: string, options?: { readonly cursor?: Json }): Promise<void>;
  /**
   * Resumes bit for bit where optimizer, precision and options are those it was saved with, and warns of each that is
   * not; gives the place in the data back, from which `fit` and `steps` go on by themselves.
   * @throws MP_IO, MP_PARSE, MP_CHECKPOINT_MISMATCH; nothing is loaded from a file that does not fit
   */
  load(path: string): Promise<Json>;
  /** The step as the engine gets it for such a batch; with `accumulate`, what one microbatch adds. */
  graph<D extends object>(batch: FedBatch<B, D>): Graph;
  /** Which dtype each operator of the loss computes in and why, for such a batch; what looks wrong is in `lints`. */
  explain<D extends object>(batch: FedBatch<B, D>): CastReport;
  /** The first value that is not finite in a step on this batch from here, or undefined; changes nothing. */
  diagnose<D extends object>(batch: FedBatch<B, D>): Promise<Attribution | undefined>;
  /**
   * Runs the batches of the step that has just been skipped again at its scale and names the first value that was not
   * finite, with the cause: the scale was too high, the half too narrow, the model made it, or the data holds it.
   * Undefined where nothing is found. Call it before the next step; it changes nothing.
   * @throws MP_INVALID_ARGUMENT for a scale that is no number above 0, or batches that are no list of at least one
   */
  replay<D extends object>(
    batches: readonly FedBatch<B, D>[],
    options: { readonly scale: number },
  ): Promise<Overflow | undefined>;
  /**
   * Where weights, activations and gradients of one batch lie against the ranges of f16 and bf16, the loss scale that
   * fits them, the cast plan and memory by kind. Costs a compilation and a pass forward and backward in f32, in which
   * every value is counted; changes nothing.
   */
  precisionReport<D extends object>(batch: FedBatch<B, D>): Promise<PrecisionReport>;
  /**
   * A step on one batch with the engine's profiler on: time per node, by the names of `graph`. Counts as a step, or
   * with `accumulate` as none: a window that has one microbatch only is thrown away.
   * @throws MP_UNSUPPORTED when the engine has no profiler
   */
  profile<D extends object>(batch: FedBatch<B, D>): Promise<readonly ProfileRow[]>;
  /** Most bytes that the engine has held at once for this run, undefined when it does not say. */
  peakBytes(): Promise<number | undefined>;
  /** Waits for the calls under way, then frees everything. Idempotent; any other call after it is MP_DISPOSED. */
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
 * @throws MP_INVALID_ARGUMENT for options out of range, MP_DTYPE_MISMATCH for parameters that are not f32,
 * MP_UNSUPPORTED for a precision whose half the backend does not have at all
 */
export async function trainer<
  P,
  B = AnyBatch,
  M = Readonly<Record<never, never>>,
  const K extends string = never,
>(options: TrainerOptions<P, B, M, K>): Promise<Trainer<P, B, M, K>> {
  checkOptions("trainer", options, TRAINER, "{ backend, params, loss, optimizer }");
  checkParts(options);
  const { backend, clipNorm, accumulate = 1, maxRetries = 100, maxConsecutiveSkips = 50 } = options;
  for (const [name, count] of Object.entries({ accumulate, maxRetries, maxConsecutiveSkips })) {
    if (Number.isInteger(count) && count >= 1 && count < 2 ** 31) continue;
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `trainer: ${name} is an integer of 1 or more, got ${shown(count)}`,
    );
  }
  if (clipNorm !== undefined) checkHyperparameter("trainer: clipNorm", clipNorm, { from: 0, open: true });
  const { onOverflow = "skip" } = options;
  if (onOverflow !== "skip" && onOverflow !== "retry") {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `trainer: onOverflow is skip or retry, got ${shown(onOverflow)}`,
    );
  }
  const choice = options.precision ?? mixed();
  const precision = typeof choice === "function" ? choice(backend.manifest) : choice;
  checkPrecision(precision);
  expectHalf(precision.policy, backend.manifest);
  const definition: StepDefinition = {
    loss: options.loss as unknown as AnyLoss,
    optimizer: options.optimizer,
    precision,
    manifest: backend.manifest,
    key: key(options.seed ?? 0),
    frozen: frozenPaths(options.params, options.frozen),
    clipNorm,
    accumulate,
    onOverflow,
    maxRetries,
    checkNewParameters: options.checkNewParameters ?? false,
  };
  const run = await TrainingRun.start({
    backend,
    definition,
    parameters: options.params,
    modelState: options.modelState ?? {},
    allReduce: options.allReduce,
    maxConsecutiveSkips,
    signal: options.signal,
    onWarning: options.onWarning ?? printWarning,
  });
  return run as unknown as Trainer<P, B, M, K>;
}

/** What an engine is does not change from one run to the next, and is said once a process. */
const OF_THE_ENGINE: ReadonlySet<TrainingWarning["type"]> = new Set(["emulated", "fallback", "performance"]);
const printed = new Set<string>();

function printWarning({ type, message }: TrainingWarning): void {
  if (OF_THE_ENGINE.has(type)) {
    if (printed.has(message)) return;
    printed.add(message);
  }
  console.warn(`[mp] ${message}`);
}
