/**
 * Moving average of the weights, kept in the step: e ← d·e + (1-d)·w in f32, after each applied step. Evaluation can
 * read it instead of the weights; training never reads it.
 */

import { mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import {
  checks,
  described,
  invalid,
  type OptionTable,
  readOptions,
  shown,
  withDefault,
} from "@mp/graph/internal";
import { add, cast, div, equal, literal, minimum, mul, sub, where } from "@mp/graph/ops";
import { averageFactor } from "../../optim/hyperparameter.js";
import { biasCorrection } from "../../optim/moments.js";

/** Options of the moving average of the weights. */
export interface EmaOptions {
  /** The fraction of the average that a step keeps, from 0 to below 1; 0.999 averages over about 1000 steps. */
  readonly decay: number;
  /**
   * Treatment of the first steps. `copy` (default): the first applied step copies the weights, as in PyTorch and
   * Keras. `debias`: the average is the mean of the weights after each step so far, weighted by decay^age, as in
   * optax. `warmup`: applied step t, from 1, keeps at most t / (t + 9), as with TensorFlow's `num_updates`.
   */
  readonly start?: "copy" | "debias" | "warmup";
}

const EMA = {
  decay: averageFactor,
  start: withDefault("copy", checks.oneOf("copy", "debias", "warmup")),
} satisfies OptionTable<EmaOptions>;

/** The options with their defaults. */
export type Ema = Required<EmaOptions>;

/** @throws MP_INVALID_ARGUMENT */
export function readEma(options: EmaOptions): Ema {
  return readOptions("trainer: ema", options, EMA, { example: "{ decay: 0.999 }" });
}

/** The options as text in checkpoints. */
export const describeEma = (ema: Ema): string => described("ema", ema);

/** The average after a step with these new weights; `applied` (i32) counts the applied steps before it. */
export function nextAverage(ema: Ema, average: TensorTree, weights: TensorTree, applied: Tensor): TensorTree {
  const kept = keepShare(ema, applied);
  const taken = sub(1, kept);
  return mapTensors((e, w) => add(mul(e, kept), mul(cast(w, "f32"), taken)), average, weights);
}

/** The fraction of the average that this step keeps, f32 scalar. */
function keepShare({ decay, start }: Ema, applied: Tensor): Tensor {
  const before = cast(applied, "f32");
  switch (start) {
    case "copy":
      return where(equal(applied, 0), literal(0), decay);
    case "debias":
      // d·(1 - d^(t-1)) / (1 - d^t): the average is divided by its weights' sum as it is formed, not when it is read.
      return mul(div(biasCorrection(decay, before), biasCorrection(decay, add(before, 1))), decay);
    case "warmup":
      return minimum(div(add(before, 1), add(before, 10)), decay);
  }
}

/** Chooses between the weights and their moving average. */
export interface WeightsChoice {
  /** `current` (default), or `ema`: the moving average, in a trainer with `ema`. Frozen parameters have no average. */
  readonly weights?: "current" | "ema";
}

/** Whether to read the average. @throws MP_INVALID_ARGUMENT for another value, or without an average */
export function readsAverage(
  what: string,
  { weights = "current" }: WeightsChoice,
  ema: Ema | undefined,
): boolean {
  if (weights === "current") return false;
  const problem =
    weights !== "ema"
      ? `weights must be "current" or "ema", got ${shown(weights)}`
      : ema === undefined
        ? "this run has no average of its weights; make the trainer with ema: { decay: 0.999 }"
        : undefined;
  if (problem !== undefined) throw invalid(`${what}: ${problem}`);
  return true;
}
