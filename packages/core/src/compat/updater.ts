/**
 * NNabla's `DynamicLossScalingUpdater` (nnabla.experimental.mixed_precision_training) in one call, with NNabla's
 * parameters and defaults; the comments of the options name the few differences. The tutorial app `apps/updater` writes
 * the same loop out.
 */

import { isHostTensor, leavesOf } from "@mp/graph";
import { checks, invalid, type OptionTable, readOptions, withDefault } from "@mp/graph/internal";
import { chain } from "../optim/chain.js";
import type { Optimizer } from "../optim/optimizer.js";
import { weightDecay } from "../optim/weight-decay.js";
import { pickPrecision } from "../precision/check-precision.js";
import { dynamicLossScale, SMALLEST_SCALE } from "../precision/loss-scaler.js";
import { mixed } from "../precision/presets.js";
import type { AnyBatch, Fed } from "../train/definition/loss.js";
import type { StepResult } from "../train/definition/result.js";
import type { TrainerOptions } from "../train/options.js";
import type { Trainer } from "../train/run/trainer-interface.js";
import { trainer } from "../train/trainer.js";
import { buildExchange, type Communicator, communicator } from "./communicator.js";
import { inexpressible } from "./refusal.js";

/** Options of the trainer that an updater passes on. */
type Passed<P, B, M, K extends string> = Pick<
  TrainerOptions<P, B, M, K>,
  "backend" | "params" | "loss" | "precision" | "modelState" | "seed" | "signal" | "onWarning"
>;

export interface UpdaterOptions<P, B, M, K extends string = string> extends Passed<P, B, M, K> {
  /** The optimizer. */
  readonly solver: Optimizer;
  /**
   * Gives the next batch, or a promise of it; called `accumGrad` times in each `update`. A retry does not call it: it
   * runs the same batches again, where NNabla's feeds new ones.
   */
  readonly dataFeeder: () => Fed<NoInfer<B>> | Promise<Fed<NoInfer<B>>>;
  /** The first loss scale; default 8. */
  readonly scale?: number;
  /** Multiplies the scale after `N` finite updates and divides it on overflow; above 1, default 2. */
  readonly scalingFactor?: number;
  /** Number of finite updates in a row that increase the scale; default 2000. NNabla's code waits for one more. */
  readonly N?: number;
  /** True is the default and the only value: buffers that a step no longer needs are always freed. */
  readonly clearBuffer?: boolean;
  /** Microbatches per update, whose gradients are added and not averaged; default 1. */
  readonly accumGrad?: number;
  /** Adds this multiple of each weight to the unscaled gradient; default none. */
  readonly weightDecay?: number;
  /** The workers of a distributed run, which add their gradients; default none. */
  readonly comm?: Communicator;
  /** Paths of the parameters whose gradients are exchanged; default all. NNabla's default is none. */
  readonly grads?: readonly string[];
}

/** A run with one method, `update`. */
export interface Updater<P, B, M, K extends string = string> {
  /** The trainer that does the work: its parameters, evaluation, checkpoints, and `fit` over a dataset. */
  readonly training: Trainer<P, B, M, K>;
  /**
   * Feeds `accumGrad` batches, computes their scaled gradients, exchanges them, checks, unscales and updates. On
   * overflow it divides the scale and runs the same batches again, at most 100 times; then they are skipped.
   * @throws the errors of the data feeder and of a trainer's `step`
   */
  update(): Promise<StepResult<K>>;
  /** Frees everything. Idempotent. */
  dispose(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** NNabla's `_max_recursive_count`. */
const MAX_RETRIES = 100;

/** Checks nothing: for options that the trainer checks itself. */
const doNothing = (): void => {};

const UPDATER = {
  backend: doNothing,
  params: doNothing,
  loss: doNothing,
  precision: withDefault(mixed(), doNothing),
  modelState: doNothing,
  seed: doNothing,
  signal: doNothing,
  onWarning: doNothing,
  solver: doNothing,
  dataFeeder: checks.callback,
  scale: withDefault(8, doNothing),
  scalingFactor: withDefault(
    2,
    checks.claim(
      "a number above 1",
      (factor) => typeof factor === "number" && factor > 1 && factor < 2 ** 64,
    ),
  ),
  N: withDefault(2000, checks.count),
  clearBuffer: withDefault(true, (_, value) => {
    if (value !== true)
      inexpressible("updater", "clearBuffer", value, "and what a step no longer needs is freed");
  }),
  accumGrad: withDefault(1, checks.count),
  weightDecay: doNothing,
  comm: checks.optional(communicator),
  grads: checks.optional(checks.listOf("paths of parameters", (path) => typeof path === "string")),
} satisfies OptionTable<UpdaterOptions<unknown, unknown, unknown>>;

/**
 * NNabla's dynamic loss scaling in one call: `update()` feeds, computes gradients of the scaled loss, exchanges,
 * checks, retries, unscales, decays and applies.
 * @example
 * ```ts
 * const training = await updater({ backend, solver: momentum({ learningRate: 0.1 }), loss, params, dataFeeder });
 * for (let iteration = 0; iteration < 1000; iteration++) await training.update();
 * ```
 * @throws MP_INVALID_ARGUMENT for options out of range; MP_UNSUPPORTED for `clearBuffer: false`; as `trainer`
 */
export async function updater<
  P,
  B = AnyBatch,
  M = Readonly<Record<never, never>>,
  const K extends string = never,
>(options: UpdaterOptions<P, B, M, K>): Promise<Updater<P, B, M, K>> {
  const read = readOptions(
    "updater",
    options as unknown as UpdaterOptions<unknown, unknown, unknown>,
    UPDATER,
    { example: "{ backend, solver, loss, params, dataFeeder }" },
  );
  const { solver, scalingFactor, N, accumGrad, comm, grads } = read;
  const { weightDecay: decay } = read;
  checkPaths(grads, options.params);
  const lossScaler = dynamicLossScale({
    initialScale: read.scale,
    growthFactor: scalingFactor,
    backoffFactor: 1 / scalingFactor,
    growthInterval: N,
    // Like NNabla's scaler, this has only f32's floor for divisors: 100 retries from 8 reach 2^-98.
    minScale: SMALLEST_SCALE,
  });
  const { backend, params, loss, modelState, seed, signal, onWarning } = options;
  const training = await trainer<P, B, M, K>({
    ...dropUndefined({ modelState, seed, signal, onWarning }),
    backend,
    params,
    loss,
    optimizer: decay === undefined ? solver : chain(weightDecay(decay), solver),
    precision: (manifest) => ({ ...pickPrecision(read.precision, manifest), lossScaler }),
    accumulate: accumGrad,
    accumulation: "sum",
    ...(comm === undefined ? {} : { allReduce: buildExchange(comm, grads) }),
    onOverflow: "retry",
    maxRetries: MAX_RETRIES,
  });
  return {
    training,
    update: async () => {
      const batches: Fed<B>[] = [];
      for (let micro = 0; micro < accumGrad; micro++) batches.push(await options.dataFeeder());
      return training.step(...batches);
    },
    dispose: () => training.dispose(),
    [Symbol.asyncDispose]: () => training.dispose(),
  };
}

/** Copies the options, leaving out undefined ones. */
function dropUndefined<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

function checkPaths(grads: readonly string[] | undefined, params: unknown): void {
  const known = new Set(leavesOf(params, isHostTensor, "params").map(([path]) => path));
  const unknown = grads?.find((path) => !known.has(path));
  if (unknown === undefined) return;
  const paths = [...known].join(", ");
  throw invalid(`updater: grads has ${unknown}, the parameters are ${paths}`);
}
