/** The time of a data-parallel step: every rank computes, then all exchange their gradients, then each updates. */
import type { AllReduce, Wire } from "./all-reduce.js";

/** Work of a rank in one step. */
export interface RankWork {
  /** Size of the gradients as they are sent. */
  readonly gradientBytes: number;
  /** Mean time of one rank's step without an exchange. */
  readonly seconds: number;
  /** Standard deviation of a step's time divided by its mean. */
  readonly deviation: number;
}

export interface StepTime {
  /** Mean over simulated steps, from the first rank's start to the last rank's end. */
  readonly seconds: number;
  /** One rank's step time divided by `seconds`. */
  readonly efficiency: number;
  /** Time spent waiting, that is, how much longer the slowest rank computes than the average rank. */
  readonly waitingSeconds: number;
}

/** Number of steps to average; each draws its own times. */
const STEPS = 20;

/** Simulates steps of several ranks, with the same draws in every call. */
export function stepTime(ranks: number, work: RankWork, allReduce: AllReduce, wire: Wire): StepTime {
  const draw = normalNumbers(1);
  let [all, waited] = [0, 0];
  for (let step = 0; step < STEPS; step++) {
    const ready = Array.from({ length: ranks }, () =>
      ranks === 1 ? work.seconds : work.seconds * Math.max(0, 1 + work.deviation * draw()),
    );
    waited += ready.reduce((most, time) => Math.max(most, time), 0) - work.seconds;
    const done = ranks === 1 ? ready : allReduce(ready, work.gradientBytes, wire);
    all += done.reduce((most, time) => Math.max(most, time), 0);
  }
  const seconds = all / STEPS;
  return { seconds, efficiency: work.seconds / seconds, waitingSeconds: waited / STEPS };
}

/** Draws normal numbers by Box and Muller's method from a linear congruential generator (Numerical Recipes). */
function normalNumbers(seed: number): () => number {
  let state = seed >>> 0;
  const uniform = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}
