import type { CastReport } from "../cast/explain.js";
import type { ProfileRow } from "../contract/backend.js";
import type { Graph } from "../graph/graph.js";
import type { FitEpoch, FitPosition, FitResult, FitValidation } from "./callbacks/callback.js";
import type { EvaluateAllMetricsOptions } from "./data/evaluate-all.js";
import type { FitOptions } from "./data/fit.js";
import type { FeedingOptions } from "./data/made-steps.js";
import type { TrainingData } from "./data/source.js";
import type { FedBatch } from "./definition/loss.js";
import type { Counters, Evaluation, StepResult } from "./definition/result.js";
import type { Diagnosis } from "./diagnosis/diagnose.js";
import type { DatasetEvaluation } from "./metrics/dataset-evaluation.js";
import type { StreamedMetrics } from "./metrics/streamed-metric.js";
import type { PrecisionReport } from "./report/report.js";
import type { Trainer, ValidationMetrics } from "./trainer-interface.js";
import type { WeightsChoice } from "./weights/average.js";

/** The names of the metrics that an objective's loss returns. */
type MetricsOf<T> = T extends { readonly loss: (...given: never) => infer R }
  ? R extends { readonly metrics?: infer X }
    ? keyof NonNullable<X> & string
    : never
  : never;

/** One value for each objective, by name. */
type Each<O, T> = { readonly [N in keyof O]: T };

/** The results of a step for each objective, by name. */
export type ObjectiveResults<O> = { readonly [N in keyof O]: StepResult<MetricsOf<O[N]>> };

/** A step that `fit` or `steps` has made: the results by name, and where it is in the run. */
export type ObjectivesStep<O, B = unknown> = ObjectiveResults<O> & FitPosition<B>;

/** The results of each objective on the validation data, by name, and the position. */
export type ObjectivesValidation<O> = {
  readonly [N in keyof O]: Omit<FitValidation<MetricsOf<O[N]>>, keyof FitEpoch>;
} & FitEpoch;

/**
 * A run with several losses. Whatever concerns a loss is given for each of them, by name; parameters, model state,
 * iterations and the position in the data are the run's.
 */
export interface ObjectivesTrainer<P, B, M, O>
  extends Omit<
    Trainer<P, B, M>,
    | "step"
    | "fit"
    | "steps"
    | "evaluate"
    | "evaluateAll"
    | "setRates"
    | "rates"
    | "counters"
    | "graph"
    | "explain"
    | "diagnose"
    | "precisionReport"
    | "profile"
  > {
  /**
   * One step of each objective in their order, on one batch or on as many as `accumulate` says. All losses are traced
   * before any of them runs. If the engine fails between two objectives, what the earlier ones committed stays, and the
   * step is not counted.
   * @throws as the step of a single loss; MP_NON_FINITE names the objective that was skipped too often
   */
  step<D extends object>(...batches: readonly FedBatch<B, D>[]): Promise<ObjectiveResults<O>>;
  /** Trains on the data and tracks the position in it. @throws as `step`; what a callback or the data throws */
  fit<D extends object>(
    data: TrainingData<FedBatch<B, D>>,
    options?: FitOptions<
      never,
      FedBatch<B, D>,
      ObjectivesStep<O, FedBatch<B, D>>,
      ObjectivesValidation<O>,
      ValidationMetrics<P, B, M>
    >,
  ): Promise<FitResult>;
  /** Trains on the current pass, or the next one, and yields the results of each step. @throws as `fit` */
  steps<D extends object>(
    data: TrainingData<FedBatch<B, D>>,
    options?: FeedingOptions,
  ): AsyncGenerator<ObjectivesStep<O, FedBatch<B, D>>, undefined>;
  /** Each loss and its metrics with `training` false, from the run's model state or the given one; changes no state. */
  evaluate<D extends object>(
    batch: FedBatch<B, D>,
    options?: WeightsChoice & { readonly modelState?: M },
  ): Promise<{ readonly [N in keyof O]: Evaluation<MetricsOf<O[N]>> & { readonly modelState: M } }>;
  /**
   * Each loss and its metrics over a whole data set, weighted by samples; streamed `metrics` are the run's, and are given
   * with each objective. @throws as of a single loss
   */
  evaluateAll<D extends object, const S extends StreamedMetrics = Readonly<Record<never, never>>>(
    data: TrainingData<FedBatch<B, D>>,
    options?: EvaluateAllMetricsOptions<P, B, M, FedBatch<B, D>, S>,
  ): Promise<{ readonly [N in keyof O]: DatasetEvaluation<MetricsOf<O[N]>, S> }>;
  /** Sets learning rates by group for the objectives named, those that are `settable`. @throws MP_INVALID_ARGUMENT */
  setRates(rates: Partial<Each<O, Readonly<Record<string, number>>>>): Promise<void>;
  /** The settable rates by objective and group. */
  rates(): Promise<Each<O, Readonly<Record<string, number>>>>;
  /** Each objective's counts and next scale; `iteration` is the run's. */
  counters(): Promise<Each<O, Counters>>;
  /** The graph of each objective's step that the engine gets for such a batch. */
  graph<D extends object>(batch: FedBatch<B, D>): Each<O, Graph>;
  /** Which dtype each operator of each loss computes in and why, for such a batch. */
  explain<D extends object>(batch: FedBatch<B, D>): Each<O, CastReport>;
  /**
   * The first non-finite value in each objective's next step on these batches, and the cause. With the `scale` of a
   * skipped step, in that step, with the parameters of other objectives as they are now. Changes no state.
   * @throws MP_INVALID_ARGUMENT for scales that are not numbers by name, or batches that are not a nonempty list
   */
  diagnose<D extends object>(
    batches: readonly FedBatch<B, D>[],
    options?: { readonly scale?: Partial<Each<O, number>> },
  ): Promise<Each<O, Diagnosis | undefined>>;
  /** The precision report of each objective's pass over a batch; changes no state. */
  precisionReport<D extends object>(batch: FedBatch<B, D>): Promise<Each<O, PrecisionReport>>;
  /**
   * A step of each objective on one batch with the engine's profiler on. Counts as a step; with `accumulate` it does
   * not. @throws MP_UNSUPPORTED when the engine has no profiler
   */
  profile<D extends object>(batch: FedBatch<B, D>): Promise<Each<O, readonly ProfileRow[]>>;
}
