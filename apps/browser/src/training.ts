import { adamW, key, remat, type Trainer, type TrainerOptions, trainer } from "@mp/core";
import { type Batch, loss, model, type Parameters } from "./model.js";

/** Batch size and AdamW's rate, also the defaults in Node, which continues the page's checkpoints. */
export const [BATCH, LEARNING_RATE] = [32, 2e-3];
/** The default of the app's flag. */
const SEED = 42;

export interface DigitTrainingOptions
  extends Omit<TrainerOptions<Parameters, Batch, unknown, "accuracy">, "params" | "loss" | "optimizer"> {
  readonly learningRate?: number;
  /** Recompute activations in the backward pass. */
  readonly checkpointing?: boolean;
}

/** A run of the page, which starts alike in every precision and on every engine. */
export function digitTraining({
  learningRate = LEARNING_RATE,
  checkpointing = false,
  seed = SEED,
  ...options
}: DigitTrainingOptions): Promise<Trainer<Parameters, Batch, unknown, "accuracy">> {
  return trainer({
    ...options,
    seed,
    params: model.init(key(seed)),
    loss: checkpointing ? remat(loss) : loss,
    optimizer: adamW({ learningRate }),
  });
}
