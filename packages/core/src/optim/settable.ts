import { checkHyperparameter } from "./hyperparameter.js";

/** A learning rate that the host sets between steps, made by `settable`. */
export interface SettableRate {
  readonly name: "settable";
  /** The rate until the host sets another. */
  readonly initial: number;
}

/**
 * A learning rate that `setRates` of the trainer changes between steps, without a new compilation. It is part of the
 * run's state (f32), and so of every checkpoint. Without a trainer it stays `initial`.
 * @throws MP_INVALID_ARGUMENT for a rate that is negative or not finite in f32
 */
export function settable(initial: number): SettableRate {
  checkHyperparameter("settable: the initial rate", initial, { from: 0 });
  return Object.freeze({ name: "settable", initial });
}

/** Whether a rate is one that the host sets. */
export function isSettable(rate: unknown): rate is SettableRate {
  return typeof rate === "object" && rate !== null && (rate as Partial<SettableRate>).name === "settable";
}
