import { type Check, callback, count, oneOf, optional, truth } from "../argument-checks.js";
import type { Backend, ProfileRow } from "../backend.js";
import type { CastReport } from "../cast/explain.js";
import { expectHalf } from "../cast/plan.js";
import type { Graph } from "../graph/graph.js";
import type { HostTensor } from "../host-tensor.js";
import { normLimit } from "../optim/clip.js";
import type { Optimizer } from "../optim/optimizer.js";
import { type OptionTable, readOptions, withDefault } from "../option-table.js";
import { mixed, type Precision, type PrecisionChoice } from "../precision/presets.js";
import type { PrecisionReport } from "../precision/report/report.js";
import type { TensorTree } from "../trace/map-tensors.js";
import { key } from "../trace/random.js";
import type { Tensor } from "../trace/tensor.js";
import type { MapLeaves, Tree } from "../tree.js";
import {
  backendPart,
  checkPrecision,
  checkScales,
  optimizerPart,
  parametersPart,
  signalPart,
} from "./checks/check-parts.js";
import type { FitResult, FitStep } from "./data/callback.js";
import type { FitOptions } from "./data/fit.js";
import type { Json } from "./data/json.js";
import type { FeedingOptions } from "./data/made-steps.js";
import type { TrainingData } from "./data/source.js";
import type { AnyLoss, StepDefinition } from "./definition.js";
import type { Diagnosis } from "./diagnosis/diagnose.js";
import { type FrozenMask, frozenPaths } from "./frozen.js";
import { TrainingRun } from "./run.js";
import type { AnyBatch, Fed, FedBatch, LossContext, LossFunction, Traced } from "./step/loss.js";
import type { Counters, Evaluation, StepResult } from "./step/result.js";
import type { AllReduce } from "./step/window.js";
import type { TrainingWarning } from "./warning.js";

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
  /** Parameters that are not trained: `true` at a leaf or a subtree. They have no gradient and no optimizer state. */
  readonly frozen?: FrozenMask<P>;
  /** Seed of all randomness of the run; default 0. */
  readonly seed?: number;
  /**
   * Scales gradients down to this global norm, at least 2^-40. Fused with unscaling into one multiplication if
   * `accumulate` is 1 and the loss scale stays between 1 and 2^24.
   */
  readonly clipNorm?: number;
  /** Microbatches per step, default 1; `step` takes that many batches. */
  readonly accumulate?: number;
  /**
   * Whether a step's gradients are the mean of its microbatches' (default) or their sum, as in NNabla, and in PyTorch
   * where the loss is not divided by their number. The reported loss is the mean in both cases.
   */
  readonly accumulation?: "mean" | "sum";
  /**
   * Combines the accumulated gradients with those of other processes. It must not wait for a call of its own trainer.
   */
  readonly allReduce?: AllReduce;
  /**
   * `retry` runs the same batch with the same randomness again at the lower scale, until the scaler no longer changes
   * or `maxRetries` is reached. Default `skip`.
   */
  readonly onOverflow?: "skip" | "retry";
  /** Retries of one batch before it is skipped; default 100. */
  readonly maxRetries?: number;
  /** Maximum number of skipped steps in a row; the next one throws MP_NON_FINITE with the cause. Default 50. */
  readonly maxConsecutiveSkips?: number;
  /**
   * If false, a step is applied even if its new parameters or optimizer state are infinite or NaN, as long as loss,
   * gradients and model state are finite. Default true: such a step is skipped.
   */
  readonly checkNewParameters?: boolean;
  /**
   * Ends training: `fit` and `steps` end, and a step that has not begun rejects with the signal's reason. Accumulation
   * is aborted between two microbatches and changes nothing. A step of one batch that has begun is not stopped.
   */
  readonly signal?: AbortSignal;
  /** Called once with each warning; default prints it to stderr. */
  readonly onWarning?: (warning: TrainingWarning) => void;
}

/** What is checked later, with more knowledge: the precision with the manifest, the mask with the parameters. */
const later: Check = () => {};

const TRAINER = {
  backend: backendPart,
  params: parametersPart,
  loss: callback,
  optimizer: optimizerPart,
  precision: withDefault(mixed(), later),
  modelState: later,
  frozen: later,
  seed: later,
  clipNorm: optional(normLimit),
  accumulate: withDefault(1, count),
  accumulation: withDefault("mean", oneOf("mean", "sum")),
  allReduce: optional(callback),
  onOverflow: withDefault("skip", oneOf("skip", "retry")),
  maxRetries: withDefault(100, count),
  maxConsecutiveSkips: withDefault(50, count),
  checkNewParameters: withDefault(true, truth),
  signal: optional(signalPart),
  onWarning: withDefault(printWarning, callback),
} satisfies OptionTable<TrainerOptions<unknown, unknown, unknown>>;

export interface Trainer<P, B, M, K extends string = string> {
  readonly precision: Precision;
  readonly warnings: readonly TrainingWarning[];
  /**
   * One step on one batch, or on as many as `accumulate` says. The data must not change until it resolves; calls that
   * are not awaited run one after another.
   * @throws MP_INVALID_ARGUMENT while `fit` or `steps` is running; MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH,
   * MP_DTYPE_MISMATCH naming the input or the loss's line; MP_NOT_DIFFERENTIABLE for a loss without a gradient to any
   * parameter; MP_NON_FINITE after too many skips in a row; MP_DISPOSED; the reason of `signal`
   */
  step<D extends object>(...batches: readonly FedBatch<B, D>[]): Promise<StepResult<K>>;
  /**
   * Trains on the data and tracks the position in it: a run that loads a checkpoint written by `save` during or after
   * `fit` continues with the next batch. Callbacks follow the training and may end it.
   * @throws as `step`; what a callback or the data throws
   */
  fit<D extends object>(
    data: TrainingData<FedBatch<B, D>>,
    options?: FitOptions<K, FedBatch<B, D>>,
  ): Promise<FitResult>;
  /**
   * Trains on the current pass, or the next one, and yields the result of each step. The next step starts when the
   * loop asks for it; `break` ends training. Tracks the position in the data as `fit` does.
   * @throws as `step`; what the data throws
   */
  steps<D extends object>(
    data: TrainingData<FedBatch<B, D>>,
    options?: FeedingOptions,
  ): AsyncGenerator<FitStep<K, FedBatch<B, D>>, undefined>;
  /** Loss and metrics with `training` false, from the run's model state or the given one; changes no state. */
  evaluate<D extends object>(
    batch: FedBatch<B, D>,
    options?: { readonly modelState?: M },
  ): Promise<Evaluation<K> & { readonly modelState: M }>;
  /** Any function of parameters and data under the same casting policy; compiled once per function object. */
  predict<D, R extends TensorTree>(
    predict: (parameters: Traced<P>, data: D, context: LossContext<Traced<M>>) => R,
    data: Fed<D>,
  ): Promise<MapLeaves<R, Tensor, HostTensor>>;
  /** A copy of the parameters after all earlier calls, including frozen ones, in f32 for any storage dtype. */
  parameters(): Promise<P>;
  modelState(): Promise<M>;
  /** The state of the loss scaler after all earlier calls, as its `update` left it: `scale`, `goodSteps`, … */
  scalerState(): Promise<Tree<HostTensor>>;
  counters(): Promise<Counters>;
  /**
   * One safetensors file: masters, optimizer, model and scaler state, counters and the position in the data. After
   * `step`, pass the position as `cursor`.
   * @throws MP_IO, and the old file is then unchanged; MP_UNSUPPORTED without Node
   */
  save(path: string, options?: { readonly cursor?: Json }): Promise<void>;
  /** The bytes of the file that `save` writes at this point, for where there are no files. */
  saveBytes(options?: { readonly cursor?: Json }): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Resumes with the same bits if optimizer, precision and options are those it was saved with, and warns about each
   * that is not. Returns the position in the data; `fit` and `steps` continue there without being passed it.
   * @throws MP_IO, MP_PARSE, MP_CHECKPOINT_MISMATCH; nothing is loaded from a file that does not fit
   */
  load(path: string): Promise<Json>;
  /**
   * `load` from the bytes of a checkpoint, which must not change before the promise settles.
   * @throws MP_INVALID_ARGUMENT for anything but a `Uint8Array`; MP_PARSE, MP_CHECKPOINT_MISMATCH as `load`
   */
  loadBytes(bytes: Uint8Array): Promise<Json>;
  /** The graph of the step that the engine gets for such a batch; with `accumulate`, that of one microbatch. */
  graph<D extends object>(batch: FedBatch<B, D>): Graph;
  /** Which dtype each operator of the loss computes in and why, for such a batch; what looks wrong is in `lints`. */
  explain<D extends object>(batch: FedBatch<B, D>): CastReport;
  /**
   * The first non-finite value in the next step on these batches, and the cause: the scale is too high or outside the
   * scaler's range, the half is too narrow, the model produces it, or the data contains it. With the `scale` of a step
   * that was just skipped, in that step: call it before the next one. Undefined if everything is finite; changes no
   * state.
   * @throws MP_INVALID_ARGUMENT for a scale that is not a number, or batches that are not a nonempty list
   */
  diagnose<D extends object>(
    batches: readonly FedBatch<B, D>[],
    options?: { readonly scale?: number },
  ): Promise<Diagnosis | undefined>;
  /**
   * The ranges of weights, activations and gradients of one batch compared with f16 and bf16, the recommended loss
   * scale, the cast plan and memory by kind. Costs a compilation and one forward and backward pass in f32 that counts
   * every value; changes no state.
   */
  precisionReport<D extends object>(batch: FedBatch<B, D>): Promise<PrecisionReport>;
  /**
   * A step on one batch with the engine's profiler on: time per node, by the names of `graph`. Counts as a step; with
   * `accumulate` it does not, since the single microbatch is discarded.
   * @throws MP_UNSUPPORTED when the engine has no profiler
   */
  profile<D extends object>(batch: FedBatch<B, D>): Promise<readonly ProfileRow[]>;
  /** Peak bytes that the engine has held for this run; undefined if it does not report them. */
  peakBytes(): Promise<number | undefined>;
  /** Waits for pending calls, then frees everything. Idempotent; any other call after it throws MP_DISPOSED. */
  dispose(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Creates a training run: uploads the parameters to the engine and traces the loss at the first step of each batch
 * shape. Later steps only upload a batch and download a few numbers.
 * @example
 * ```ts
 * const optimizer = adamW({ learningRate: 1e-3 });
 * const training = await trainer({ backend, params, loss, optimizer, precision: mixed() });
 * const { loss, applied, scale } = await training.step({ x, y });
 * ```
 * @throws MP_INVALID_ARGUMENT for options out of range, MP_DTYPE_MISMATCH for parameters that are not f32,
 * MP_NON_FINITE for parameters or model state that are infinite or NaN, MP_UNSUPPORTED for a precision whose half the
 * backend does not support at all
 */
export async function trainer<
  P,
  B = AnyBatch,
  M = Readonly<Record<never, never>>,
  const K extends string = never,
>(options: TrainerOptions<P, B, M, K>): Promise<Trainer<P, B, M, K>> {
  const example = "{ backend, params, loss, optimizer }";
  // The types of the trees do not matter to the checks.
  const read = readOptions(
    "trainer",
    options as unknown as TrainerOptions<unknown, unknown, unknown>,
    TRAINER,
    {
      example,
    },
  );
  const { backend, precision: choice, clipNorm, accumulate, onOverflow, maxRetries } = read;
  const precision = typeof choice === "function" ? choice(backend.manifest) : choice;
  checkPrecision(precision);
  checkScales(precision.lossScaler);
  expectHalf(precision.policy, backend.manifest);
  const definition: StepDefinition = {
    loss: options.loss as unknown as AnyLoss,
    optimizer: read.optimizer,
    precision,
    manifest: backend.manifest,
    key: key(read.seed ?? 0),
    frozen: frozenPaths(options.params, options.frozen),
    clipNorm,
    accumulate,
    accumulation: read.accumulation,
    onOverflow,
    maxRetries,
    checkNewParameters: read.checkNewParameters,
  };
  const run = await TrainingRun.start({
    backend,
    definition,
    parameters: options.params,
    modelState: options.modelState ?? {},
    allReduce: read.allReduce,
    maxConsecutiveSkips: read.maxConsecutiveSkips,
    signal: read.signal,
    onWarning: read.onWarning,
  });
  // The class knows no types of trees, so only the names of its methods can be checked here.
  return run satisfies Record<keyof Trainer<P, B, M, K>, unknown> as unknown as Trainer<P, B, M, K>;
}

/** Warnings about the engine do not change between runs, so they are shown once per process. */
const OF_THE_ENGINE: ReadonlySet<TrainingWarning["type"]> = new Set(["emulated", "fallback", "performance"]);
const printed = new Set<string>();

function printWarning({ type, message }: TrainingWarning): void {
  if (OF_THE_ENGINE.has(type)) {
    if (printed.has(message)) return;
    printed.add(message);
  }
  console.warn(`[mp] ${message}`);
}
