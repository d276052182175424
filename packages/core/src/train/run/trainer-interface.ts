import type { Graph, HostTensor, MapLeaves, ProfileRow, Tensor, TensorTree, Tree } from "@mp/graph";
import type { CastReport } from "../../cast/explain.js";
import type { Precision } from "../../precision/presets.js";
import type { FitResult } from "../callbacks/callback.js";
import type { Json } from "../callbacks/json.js";
import type { EvaluateAllMetricsOptions } from "../data/evaluate-all.js";
import type { FitOptions } from "../data/fit.js";
import type { FeedingOptions } from "../data/made-steps.js";
import type { TrainingData } from "../data/source.js";
import type { Fed, FedBatch, LossContext, Traced } from "../definition/loss.js";
import type { Counters } from "../definition/result.js";
import type { TrainingWarning } from "../definition/warning.js";
import type { Diagnosis } from "../diagnosis/diagnose.js";
import type { StreamedMetrics } from "../metrics/streamed-metric.js";
import type { PrecisionReport, ReportOptions } from "../report/report.js";
import type { WeightsChoice } from "../weights/average.js";
import type {
  DatasetEvaluations,
  Each,
  Evaluations,
  MadeStep,
  Some,
  StepResults,
  Validations,
} from "./results-by-objective.js";

/** Metrics of a whole validation set: the `metrics` of `evaluateAll`. */
export type ValidationMetrics<P, B, M, S> = NonNullable<
  EvaluateAllMetricsOptions<P, B, M, unknown, S>["metrics"]
>;

/**
 * A training run. With objectives, results that concern a loss are given for each objective, by name; parameters,
 * model state, iterations and the position in the data are the run's. `O` is the type of the objectives.
 */
export interface Trainer<P, B, M, K extends string = string, O = never> {
  readonly precision: Precision;
  readonly warnings: readonly TrainingWarning[];
  /**
   * Makes one step on one batch, or on as many as `accumulate` says. The arrays are copied at the call, so they may
   * be refilled at once; handles of the engine must not be disposed of until the step resolves. Calls that are not
   * awaited run one after another.
   *
   * With objectives, makes one step of each in their order. All losses are traced before any of them runs. If the
   * engine fails between two objectives, the updates of the earlier ones stay; the step is not counted.
   * @throws MP_INVALID_ARGUMENT while `fit` or `steps` is running; MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH,
   *   MP_DTYPE_MISMATCH naming the input or the loss's line; MP_NOT_DIFFERENTIABLE for a loss without a gradient to
   *   any parameter; MP_NON_FINITE after too many skips in a row, naming the objective; MP_DISPOSED; the reason of
   *   `signal`
   */
  step<D extends object>(...batches: readonly FedBatch<B, D>[]): Promise<StepResults<K, O>>;
  /**
   * Trains on the data and tracks the position in it: a run that loads a checkpoint which `save` wrote during or
   * after `fit` continues with the next batch. Callbacks follow the training and may end it.
   * @throws as `step`; what a callback or the data throws
   */
  fit<D extends FedBatch<B, D>, const S extends StreamedMetrics = Readonly<Record<never, never>>>(
    data: TrainingData<D>,
    options?: FitOptions<
      K,
      FedBatch<B, D>,
      MadeStep<K, O, D>,
      Validations<K, O, NoInfer<S>>,
      ValidationMetrics<P, B, M, S>
    >,
  ): Promise<FitResult>;
  /**
   * Trains on the rest of the current pass, or on the next pass if it is over, and yields the result of each step. The
   * next step starts when the loop asks for it; `break` ends training. Tracks the position in the data as `fit` does.
   * @throws as `step`; what the data throws
   */
  steps<D extends FedBatch<B, D>>(
    data: TrainingData<D>,
    options?: FeedingOptions,
  ): AsyncGenerator<MadeStep<K, O, D>, undefined>;
  /** Loss and metrics of a batch with `training` false, from the run's model state or a given one; changes no state. */
  evaluate<D extends object>(
    batch: FedBatch<B, D>,
    options?: WeightsChoice & { readonly modelState?: M },
  ): Promise<Evaluations<K, O, M>>;
  /**
   * Loss and metrics over a whole data set, with `training` false: means weighted by the samples of each batch
   * and summed in f64, so a smaller last batch has less weight. `metrics` adds metrics that are not means. Goes
   * through the data once from its beginning; changes no state, and no position in any data. May be called during
   * `fit`. With objectives, `metrics` are computed once for the run, and are in the result of each.
   * @throws MP_INVALID_ARGUMENT for options, data without batches, or tensors whose number of samples is unknown;
   *   what the data throws; the reason of `signal`
   */
  evaluateAll<D extends object, const S extends StreamedMetrics = Readonly<Record<never, never>>>(
    data: TrainingData<FedBatch<B, D>>,
    options?: EvaluateAllMetricsOptions<P, B, M, FedBatch<B, D>, S>,
  ): Promise<DatasetEvaluations<K, O, S>>;
  /** Calls any function of parameters and data under the same casting policy; compiled once per function object. */
  predict<D, R extends TensorTree>(
    predict: (parameters: Traced<P>, data: D, context: LossContext<Traced<M>>) => R,
    data: Fed<D>,
    options?: WeightsChoice,
  ): Promise<MapLeaves<R, Tensor, HostTensor>>;
  /** Copies of all parameters after all earlier calls, in f32. Frozen parameters given in another dtype keep it. */
  parameters(options?: WeightsChoice): Promise<P>;
  modelState(): Promise<M>;
  /**
   * The state of the loss scaler after all earlier calls, as its `update` left it: `scale`, `goodSteps`, …; with
   * objectives, the state of each scaler by name.
   */
  scalerState(): Promise<Tree<HostTensor>>;
  /**
   * Sets `settable` learning rates by group (`default` without groups); with objectives, by objective and group. The
   * rates hold from the next step on and are saved with the run. Nothing is compiled. Callbacks of `fit` may call it.
   * @throws MP_INVALID_ARGUMENT for a group without a settable rate, or a rate that is negative or not finite in f32
   */
  setRates(rates: Some<O, Readonly<Record<string, number>>>): Promise<void>;
  /** The `settable` rates of the next step, by group. */
  rates(): Promise<Each<O, Readonly<Record<string, number>>>>;
  /** Counts of steps, and the next scale. With objectives, the counts of each; `iteration` is the run's. */
  counters(): Promise<Each<O, Counters>>;
  /**
   * Saves the run as one safetensors file: masters, optimizer, model and scaler state, counters and the position in
   * the data. After `step`, pass the position as `cursor`.
   * @throws MP_IO, and the old file is then unchanged; MP_UNSUPPORTED without Node
   */
  save(path: string, options?: { readonly cursor?: Json }): Promise<void>;
  /** Returns the bytes that `save` would write, for places without files. */
  saveBytes(options?: { readonly cursor?: Json }): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Resumes with the same bits if optimizer, precision and options are those of the saved run, and warns about each
   * that differs. With another `frozen` mask, other groups of `byPath`, settable rates or an average that the file
   * lacks, it keeps the state that fits, and warns of the parts that start new. Returns the position in the data; `fit`
   * and `steps` continue there by themselves.
   * @throws MP_IO, MP_PARSE, MP_CHECKPOINT_MISMATCH; nothing is loaded from a file that does not fit
   */
  load(path: string): Promise<Json>;
  /**
   * Like `load`, from the bytes of a checkpoint, which must not change before the promise settles.
   * @throws MP_INVALID_ARGUMENT for anything but a `Uint8Array`; MP_PARSE, MP_CHECKPOINT_MISMATCH as `load`
   */
  loadBytes(bytes: Uint8Array): Promise<Json>;
  /** The graph of a step that the engine gets for this batch; with `accumulate`, the graph of one microbatch. */
  graph<D extends object>(batch: FedBatch<B, D>): Each<O, Graph>;
  /** The dtype that each operator of the loss computes in for this batch, and why; likely mistakes are in `lints`. */
  explain<D extends object>(batch: FedBatch<B, D>): Each<O, CastReport>;
  /**
   * Finds the first non-finite value in the next step on these batches, and the cause: the scale is too high or outside
   * the scaler's range, the half dtype's range is too narrow, the model produces it, or the data contains it. Given the
   * `scale` of the step that was just skipped, examines that step; call it before the next one. Undefined if
   * everything is finite; changes no state.
   * @throws MP_INVALID_ARGUMENT for a scale that is not a number, or batches that are not a nonempty list
   */
  diagnose<D extends object>(
    batches: readonly FedBatch<B, D>[],
    options?: { readonly scale?: Some<O, number> },
  ): Promise<Each<O, Diagnosis | undefined>>;
  /**
   * The ranges of weights, activations and gradients of one batch compared with f16 and bf16, the recommended loss
   * scale, the cast plan, and memory by kind. Costs a compilation and one forward and backward pass in f32 that
   * counts every value, and one more of each for each recipe; changes no state.
   */
  precisionReport<D extends object>(
    batch: FedBatch<B, D>,
    options?: ReportOptions,
  ): Promise<Each<O, PrecisionReport>>;
  /**
   * Makes a step on one batch with the engine's profiler on: time per node, by the names of `graph`. Counts as a
   * step, except with `accumulate`, where the single microbatch is discarded.
   * @throws MP_UNSUPPORTED if the engine has no profiler
   */
  profile<D extends object>(batch: FedBatch<B, D>): Promise<Each<O, readonly ProfileRow[]>>;
  /** Peak bytes that the engine has held for this run; undefined if the engine does not report them. */
  peakBytes(): Promise<number | undefined>;
  /** Waits for pending calls, then frees everything. Idempotent; any other call after it throws MP_DISPOSED. */
  dispose(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
