import type { Backend, Ranks } from "@mp/graph";
import {
  checks,
  invalid,
  isPlainObject,
  later,
  type OptionTable,
  readOptions,
  withDefault,
} from "@mp/graph/internal";
import { normLimit } from "../optim/clip.js";
import type { Optimizer } from "../optim/optimizer.js";
import type { LossScaler } from "../precision/loss-scaler.js";
import { mixed, type PrecisionChoice } from "../precision/presets.js";
import { backendPart, optimizerPart, parametersPart, ranksPart, signalPart } from "./batch/check-parts.js";
import { KEPT_PROGRAMS } from "./compile/compiled-programs.js";
import type { LossFunction } from "./definition/loss.js";
import type { TrainingWarning } from "./definition/warning.js";
import { printWarning } from "./objective/warnings.js";
import type { AllReduce } from "./objective/window-reduction.js";
import type { EmaOptions } from "./weights/average.js";
import type { FrozenMask } from "./weights/frozen.js";

/** Options of a run, whatever it trains. */
export interface RunSettings<P, M> {
  /** The engine, such as `await ort()`. The trainer does not dispose of it. */
  readonly backend: Backend;
  /** Initial parameters: a tree of f32 host tensors. Frozen parameters may have any dtype, and keep it. */
  readonly params: P;
  /** The precision; default `mixed()`, which picks one that the backend computes natively. */
  readonly precision?: PrecisionChoice;
  /** Initial `context.modelState`. */
  readonly modelState?: M;
  /** Parameters that are not trained: `true` at a leaf or a subtree. They have no gradient and no optimizer state. */
  readonly frozen?: FrozenMask<P>;
  /** Keeps a moving average of the weights, which `parameters`, `evaluate` and `predict` read with `weights: "ema"`. */
  readonly ema?: EmaOptions;
  /** Seed of all random numbers of the run; default 0. */
  readonly seed?: number;
  /** Microbatches per step, default 1; `step` takes that many batches. */
  readonly accumulate?: number;
  /**
   * Whether the gradients of a step are the mean over its microbatches (default) or the sum, as in NNabla, and in
   * PyTorch unless the loss is divided by their number. The reported loss is the mean either way. A loss that returns a
   * weight needs the mean.
   */
  readonly accumulation?: "mean" | "sum";
  /** Combines accumulated gradients with other processes' gradients. Must not wait for a call of the same trainer. */
  readonly allReduce?: AllReduce;
  /**
   * The processes of a data-parallel run. Each has a trainer with the same options and its own batches. Gradients, loss
   * and metrics are means over the processes, weighted if the loss returns a weight, so all processes apply or skip the
   * same steps. Every call that makes steps, saves or loads must be made in all processes.
   */
  readonly ranks?: Ranks;
  /**
   * Whether f32 model state, such as the statistics of batch normalization, is averaged over ranks in each step.
   * Default false: each rank keeps its own.
   */
  readonly averageModelState?: boolean;
  /**
   * `optimizer` shards master weights and optimizer state over the ranks (ZeRO stage 1): each rank updates its part,
   * then all ranks exchange the new weights. Results equal those of a run without `shard`. Default: no sharding.
   */
  readonly shard?: "optimizer";
  /**
   * `retry` runs the same batch with the same random numbers again at the lower scale, until the scaler no longer
   * changes or `maxRetries` is reached. Default `skip`.
   */
  readonly onOverflow?: "skip" | "retry";
  /** Retries of one batch before it is skipped; default 100. */
  readonly maxRetries?: number;
  /** Maximum number of skipped steps in a row; the next one throws MP_NON_FINITE with the cause. Default 50. */
  readonly maxConsecutiveSkips?: number;
  /**
   * Number of compiled programs that are kept for each objective: one for each batch shape of `step`, `evaluate` and
   * `predict`, and a few others. Beyond this the least recently used is disposed of, with one warning. Default 8.
   */
  readonly programs?: number;
  /**
   * Counts updates and lost updates by tensor once in this many applied steps, for `updates` of the step's result, in a
   * separate program on the step's first batch. Warns if more than a quarter are lost. Default: never.
   */
  readonly checkUpdates?: number;
  /**
   * If false, a step is applied even if its new parameters or optimizer state are infinite or NaN, as long as loss,
   * gradients and model state are finite. Default true: such a step is skipped.
   */
  readonly checkNewParameters?: boolean;
  /**
   * Ends training: `fit` and `steps` end, and a step that has not begun rejects with the signal's reason.
   * Accumulation is aborted between two microbatches and changes nothing. A step of one batch that has begun runs to
   * its end.
   */
  readonly signal?: AbortSignal;
  /** Called once with each warning; default prints it to stderr. */
  readonly onWarning?: (warning: TrainingWarning) => void;
}

/** A loss, and the optimizer that minimizes it. */
export interface Minimization<P, B, M, K extends string = string> {
  /** The loss of a batch, a scalar, alone or with metrics and the next model state; traced once per batch shape. */
  readonly loss: LossFunction<NoInfer<P>, B, NoInfer<M>, K>;
  /** The optimizer, such as `adamW({ learningRate: 1e-3 })`; `@mp/core/optim` has all optimizers. */
  readonly optimizer: Optimizer;
  /**
   * Scales gradients down to this global norm, at least 2^-40. The guide says when one multiplication also unscales
   * them.
   */
  readonly clipNorm?: number;
}

/** Options of a run with a single loss. */
export interface TrainerOptions<P, B, M, K extends string = string>
  extends RunSettings<P, M>,
    Minimization<P, B, M, K> {}

/** One of several losses of a run, with the parameters that it trains. */
export interface Objective<P, B, M, K extends string = string> extends Minimization<P, B, M, K> {
  /**
   * The parameters that the objective trains: `true` at a leaf or a subtree. The loss gets the whole tree, with all
   * other parameters constant. A parameter belongs to at most one objective; a parameter of none is not trained.
   */
  readonly params: FrozenMask<P>;
  /** The objective's own loss scaler; default a new one like the precision's. */
  readonly scaler?: LossScaler;
}

/**
 * Options of a run with several losses over one tree of parameters. `O` is the type of the objectives by name; the
 * types of their results follow from it.
 */
export interface ObjectivesOptions<P, B, M, O> extends RunSettings<P, M> {
  /**
   * Objectives by name, in the order in which a step runs them. Each is applied or skipped by itself: it has its own
   * scaler, optimizer state, retries and count of applied steps. A later objective sees what earlier ones of the step
   * have committed. `accumulate` and `onOverflow` hold for all of them; `allReduce` is called for each.
   */
  readonly objectives: O & { readonly [N in keyof O]: Objective<NoInfer<P>, B, NoInfer<M>> } & Readonly<
      Record<string, TakesBatch<B>>
    >;
}

/** Lets TypeScript infer the type of the batch even if no parameter of a loss is left to infer. */
type TakesBatch<B> = { readonly [N in keyof Objective<unknown, unknown, unknown>]?: unknown } & {
  readonly loss: (parameters: never, batch: B, context: never) => unknown;
};

const TRAINER = {
  backend: backendPart,
  params: parametersPart,
  loss: checks.callback,
  optimizer: optimizerPart,
  precision: withDefault(mixed(), later),
  modelState: later,
  frozen: later,
  ema: later,
  seed: later,
  clipNorm: checks.optional(normLimit),
  accumulate: withDefault(1, checks.count),
  accumulation: withDefault("mean", checks.oneOf("mean", "sum")),
  allReduce: checks.optional(checks.callback),
  ranks: checks.optional(ranksPart),
  averageModelState: withDefault(false, checks.truth),
  shard: checks.optional(checks.oneOf("optimizer")),
  onOverflow: withDefault("skip", checks.oneOf("skip", "retry")),
  maxRetries: withDefault(100, checks.count),
  maxConsecutiveSkips: withDefault(50, checks.count),
  programs: withDefault(KEPT_PROGRAMS, checks.count),
  checkUpdates: checks.optional(checks.count),
  checkNewParameters: withDefault(true, checks.truth),
  signal: checks.optional(signalPart),
  onWarning: withDefault(printWarning, checks.callback),
} satisfies OptionTable<TrainerOptions<unknown, unknown, unknown>>;

const { loss: _loss, optimizer: _optimizer, clipNorm: _clipNorm, ...settings } = TRAINER;
const OBJECTIVES = { ...settings, objectives: later } satisfies OptionTable<
  ObjectivesOptions<unknown, unknown, unknown, unknown>
>;

const ELSEWHERE = { freeze: "did you mean frozen?" };
const OWN =
  "with objectives each has its own: objectives: { d: { loss, params, optimizer, scaler, clipNorm } }";

/** Settings that are never undefined: required settings, and settings with a default. */
type Present =
  | "backend"
  | "precision"
  | "accumulate"
  | "accumulation"
  | "onOverflow"
  | "maxRetries"
  | "maxConsecutiveSkips"
  | "programs"
  | "checkNewParameters"
  | "averageModelState"
  | "onWarning";

export type ReadSettings = {
  readonly [K in keyof RunSettings<unknown, unknown>]-?:
    | RunSettings<unknown, unknown>[K]
    | (K extends Present ? never : undefined);
};

/** Checks the settings of a run and adds defaults. @throws MP_INVALID_ARGUMENT */
export function readTrainerOptions(
  options: TrainerOptions<unknown, unknown, unknown> | ObjectivesOptions<unknown, unknown, unknown, unknown>,
): ReadSettings {
  const read: ReadSettings = hasObjectives(options)
    ? readOptions("trainer", options, OBJECTIVES, {
        elsewhere: { ...ELSEWHERE, loss: OWN, optimizer: OWN, clipNorm: OWN },
      })
    : readOptions("trainer", options, TRAINER, {
        example: "{ backend, params, loss, optimizer }",
        elsewhere: ELSEWHERE,
      });
  if (read.ranks !== undefined && read.allReduce !== undefined) {
    throw invalid(
      "trainer: allReduce and ranks both combine the gradients of processes; leave one of them out",
    );
  }
  const ofRanks =
    read.shard !== undefined ? "shard" : read.averageModelState ? "averageModelState" : undefined;
  if (ofRanks !== undefined && read.ranks === undefined)
    throw invalid(`trainer: ${ofRanks} is for ranks; give it ranks: await mpi()`);
  return read;
}

/** Whether unchecked options are for a run with several losses. */
export function hasObjectives<T extends object, S extends { readonly objectives: unknown }>(
  options: T | S,
): options is S {
  return isPlainObject(options) && options["objectives"] !== undefined;
}
