import type { RunName, Step } from "./messages.js";

/** The record of a run so far. */
export class RunHistory {
  readonly losses: number[] = [];
  readonly scales: number[] = [];
  readonly skipped: number[] = [];
  /** Accuracy on digits that no run trains on; undefined before the first evaluation. */
  accuracy: number | undefined;
  #milliseconds: number[] = [];

  add({ step, loss, scale, applied, milliseconds }: Step): void {
    this.losses.push(loss);
    this.scales.push(scale);
    if (!applied) this.skipped.push(step);
    this.#milliseconds = [...this.#milliseconds.slice(-19), milliseconds];
  }

  /** The median of the last 20 steps, on which the compiling first step has little effect. */
  get milliseconds(): number | undefined {
    return [...this.#milliseconds].sort((a, b) => a - b)[this.#milliseconds.length >> 1];
  }
}

export type Histories = Readonly<Record<RunName, RunHistory>>;

export const histories = (): Histories => ({ float32: new RunHistory(), float16: new RunHistory() });

/** Differences of the losses at the steps that both runs have made. */
export function differences({ float32, float16 }: Histories): readonly number[] {
  return float16.losses.flatMap((loss, index) => {
    const plain = float32.losses[index];
    return plain === undefined ? [] : [loss - plain];
  });
}
