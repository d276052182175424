import { isHostTensor, key, leavesOf } from "@mp/graph";
import { invalid, notesIn } from "@mp/graph/internal";
import { usablePrecision } from "../precision/check-precision.js";
import { delayedRecipe } from "../quantize/recipes-by-step.js";
import type { AnyBatch } from "./definition/loss.js";
import type { RankPlace } from "./definition/rank-place.js";
import {
  type ObjectivesOptions,
  type ReadSettings,
  readTrainerOptions,
  type TrainerOptions,
} from "./options.js";
import { type CommonDefinition, readDefinitions } from "./read-definitions.js";
import type { Trainer } from "./run/trainer-interface.js";
import { TrainingRun } from "./run/training-run.js";
import { readEma } from "./weights/average.js";

/**
 * Creates a training run: uploads the parameters to the engine and traces the loss at the first step of each batch
 * shape. Later steps only upload a batch and download a few numbers.
 * @example
 * ```ts
 * const optimizer = adamW({ learningRate: 1e-3 });
 * const training = await trainer({ backend, params, loss, optimizer, precision: mixed() });
 * const { loss, applied, scale } = await training.step({ x, y });
 * ```
 * With `objectives` instead of `loss` and `optimizer` it trains several losses, such as those of a GAN, and gives
 * results by the objectives' names.
 * @throws MP_INVALID_ARGUMENT for options out of range, MP_DTYPE_MISMATCH for trained parameters that are not f32,
 *   MP_NON_FINITE for parameters or model state that are infinite or NaN, MP_UNSUPPORTED for a precision
 *   whose half dtype the backend does not support at all, MP_RANK_MISMATCH where the ranks of a run begin with
 *   different parameters or settings
 */
export async function trainer<
  P,
  B = AnyBatch,
  M = Readonly<Record<never, never>>,
  const K extends string = never,
  O = never,
>(
  options: TrainerOptions<P, B, M, K> | ObjectivesOptions<P, B, M, O>,
): Promise<Trainer<P, B, M, K, NoInfer<O>>> {
  // The types of the trees do not matter to the checks.
  const given = options as unknown as Parameters<typeof readDefinitions>[0];
  const read = readTrainerOptions(given);
  const { ranks } = read;
  // A single rank needs no agreement.
  const agreement =
    ranks === undefined || ranks.size === 1
      ? undefined
      : new (await import("./ranks/agreement.js")).Agreement(ranks);
  const start = async (): Promise<TrainingRun<P, B, M, K, NoInfer<O>>> =>
    TrainingRun.start({
      ...read,
      definitions: readDefinitions(given, commonDefinition(read, agreement?.ranks)),
      parameters: options.params,
      modelState: options.modelState ?? {},
      agreement,
    });
  return agreement === undefined ? start() : agreement.orTell(start);
}

function commonDefinition(read: ReadSettings, rank: RankPlace | undefined): CommonDefinition {
  const { backend, precision: choice, accumulate, onOverflow, maxRetries, checkNewParameters } = read;
  const precision = usablePrecision("trainer", choice, backend.manifest);
  if (read.allReduce !== undefined && delayedRecipe(precision.recipe) !== undefined)
    throw invalid(
      "trainer: allReduce must be left out with delayed scaling, which takes maxima over processes; give it ranks",
    );
  return {
    precision,
    manifest: backend.manifest,
    key: key(read.seed ?? 0),
    rank,
    accumulate,
    accumulation: read.accumulation,
    onOverflow,
    maxRetries,
    checkNewParameters,
    notes: notesIn(read.params),
    ema: read.ema === undefined ? undefined : readEma(read.ema),
    keptAsGiven: new Set(
      leavesOf(read.params, isHostTensor, "params").flatMap(([path, { dtype }]) =>
        dtype === "f32" ? [] : path,
      ),
    ),
  };
}
