import {
  adamW,
  type Backend,
  key,
  type PrecisionChoice,
  type Trainer,
  type TrainingWarning,
  trainer,
} from "@mp/core";
import { type Batch, loss, model, type Parameters } from "./model.js";

/** Images in a batch, and AdamW's rate: Node takes the same unless told otherwise, so that it can go on from there. */
export const [BATCH, LEARNING_RATE] = [32, 2e-3];
/** The default of the app's flag. */
const SEED = 42;

export interface DigitTrainingOptions {
  readonly backend: Backend;
  readonly precision: PrecisionChoice;
  readonly onWarning?: (warning: TrainingWarning) => void;
}

/** A run of the page, from the same start in every precision and on every engine. */
export function digitTraining(
  options: DigitTrainingOptions,
): Promise<Trainer<Parameters, Batch, unknown, "accuracy">> {
  return trainer({
    ...options,
    params: model.init(key(SEED)),
    loss,
    optimizer: adamW({ learningRate: LEARNING_RATE }),
    seed: SEED,
  });
}
