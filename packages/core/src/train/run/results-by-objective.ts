/** Types of a run's results: one result with a single loss (`O` is never), or one for each objective by name. */
import type { FitEpoch, FitPosition, FitStep, FitValidation } from "../callbacks/callback.js";
import type { Evaluation, StepResult } from "../definition/result.js";
import type { DatasetEvaluation } from "../metrics/evaluation-result.js";

/** The names of the metrics that an objective's loss returns. */
type MetricsOf<T> = T extends { readonly loss: (...given: never) => infer R }
  ? R extends { readonly metrics?: infer X }
    ? keyof NonNullable<X> & string
    : never
  : never;

export type Each<O, T> = [O] extends [never] ? T : { readonly [N in keyof O]: T };

/** Like `Each`, but an objective may be left out. */
export type Some<O, T> = [O] extends [never] ? T : { readonly [N in keyof O]?: T };

export type StepResults<K extends string, O> = [O] extends [never]
  ? StepResult<K>
  : { readonly [N in keyof O]: StepResult<MetricsOf<O[N]>> };

/** A step of `fit` or `steps`, with its position in the run. */
export type MadeStep<K extends string, O, B> = [O] extends [never]
  ? FitStep<K, B>
  : StepResults<K, O> & FitPosition<B>;

/** The results for the validation data, with the position at which they were computed. */
export type Validations<K extends string, O, S> = [O] extends [never]
  ? FitValidation<K, S>
  : DatasetEvaluations<K, O, S> & FitEpoch;

export type Evaluations<K extends string, O, M> = [O] extends [never]
  ? Evaluation<K> & { readonly modelState: M }
  : { readonly [N in keyof O]: Evaluation<MetricsOf<O[N]>> & { readonly modelState: M } };

export type DatasetEvaluations<K extends string, O, S> = [O] extends [never]
  ? DatasetEvaluation<K, S>
  : { readonly [N in keyof O]: DatasetEvaluation<MetricsOf<O[N]>, S> };
