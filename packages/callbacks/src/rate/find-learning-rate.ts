import type { RatesByGroup } from "@mp/core/fit";
import { checks, invalid, readOptions, withDefault } from "@mp/graph/internal";

/** Options of `findLearningRate`: the range of rates, and how many. */
export interface FindLearningRateOptions {
  /** The first rate; default 1e-8. */
  readonly from?: number;
  /** The last rate, above `from`; default 1. */
  readonly to?: number;
  /** Number of steps, one for each rate, at least 20; default 100. */
  readonly steps?: number;
  /** Weight of the earlier losses in the smoothed one, below 1; default 0.98. */
  readonly smoothing?: number;
  /** The test ends when the smoothed loss is this many times the least so far; default 4. */
  readonly divergence?: number;
}

/** Rates, the losses with them, and the rate to begin with. */
export interface LearningRateRange {
  /**
   * The rate at which the loss falls fastest over the logarithm of the rate, without the first ten losses and the last;
   * undefined if the test ended before it had 13.
   */
  readonly suggestion: number | undefined;
  /** The rates of the steps. */
  readonly rates: readonly number[];
  /** The smoothed loss of each step. */
  readonly losses: readonly number[];
}

/** The part of a trainer with one loss that the test needs. */
export interface TestedTrainer<B> {
  rates(): Promise<RatesByGroup>;
  setRates(rates: RatesByGroup): Promise<void>;
  steps(data: B): AsyncIterable<{ readonly loss: number }>;
  saveBytes(): Promise<Uint8Array>;
  loadBytes(bytes: Uint8Array): Promise<unknown>;
}

const positive = checks.claim("a number above 0", (value) => Number.isFinite(value) && Number(value) > 0);
const OPTIONS = {
  from: withDefault(1e-8, positive),
  to: withDefault(1, positive),
  steps: withDefault(100, checks.integer(20)),
  smoothing: withDefault(
    0.98,
    checks.claim("a number ≥ 0 and below 1", (value) => Number(value) >= 0 && Number(value) < 1),
  ),
  divergence: withDefault(4, positive),
};
/** Numbers of steps left out: the first losses say little, and the last smoothed loss may be a jump. */
const [SKIPPED_FIRST, SKIPPED_LAST] = [10, 1];

/**
 * The range test of Smith (arXiv 1506.01186), as `lr_find` of fastai and Lightning: trains with rates that grow
 * exponentially, and suggests the rate at which the smoothed loss falls fastest. All settable rates get the same. Afterwards the run is
 * what it was: weights, optimizer, scaler, random numbers, position in the data. Until then a checkpoint of it is in
 * memory.
 * @throws MP_INVALID_ARGUMENT for invalid options, a trainer without settable rates, or data without batches; what a
 *   step throws
 */
export async function findLearningRate<B>(
  training: TestedTrainer<B>,
  data: B,
  options: FindLearningRateOptions = {},
): Promise<LearningRateRange> {
  const { from, to, steps, smoothing, divergence } = readOptions("findLearningRate", options, OPTIONS, {
    example: "{ from: 1e-6, to: 1 }",
  });
  if (from >= to) throw invalid(`findLearningRate: from must be below to, got ${from} and ${to}`);
  const groups = Object.keys(await training.rates());
  if (groups.length === 0)
    throw invalid("findLearningRate: no learning rate can be set; make it so: learningRate: settable(1e-3)");
  const setRate = async (step: number): Promise<number> => {
    const rate = from * (to / from) ** (step / (steps - 1));
    await training.setRates(Object.fromEntries(groups.map((group) => [group, rate])));
    return rate;
  };
  const before = await training.saveBytes();
  const losses: number[] = [];
  const rates: number[] = [];
  let [mean, least] = [0, Number.POSITIVE_INFINITY];
  /** Whether there is to be a next step. */
  const take = (rate: number, loss: number): boolean => {
    mean = smoothing * mean + (1 - smoothing) * loss;
    const smoothed = mean / (1 - smoothing ** (losses.length + 1));
    if (!Number.isFinite(smoothed)) return false;
    rates.push(rate);
    losses.push(smoothed);
    least = Math.min(least, smoothed);
    return losses.length < steps && smoothed <= divergence * least;
  };
  try {
    let rate = await setRate(0);
    for (let isOver = false; !isOver; ) {
      const earlier = losses.length;
      for await (const { loss } of training.steps(data)) {
        isOver = !take(rate, loss);
        if (isOver) break;
        rate = await setRate(losses.length);
      }
      if (losses.length === earlier && !isOver)
        throw invalid("findLearningRate: data must have batches in each pass; pass an array or a dataset");
    }
  } finally {
    await training.loadBytes(before);
  }
  const slopes = losses.slice(SKIPPED_FIRST, -SKIPPED_LAST).map((_, at, all) => slopeAt(all, at));
  const steepest = slopes.indexOf(Math.min(...slopes));
  return { suggestion: slopes.length < 2 ? undefined : rates[steepest + SKIPPED_FIRST], rates, losses };
}

/** The central difference of neighbors, and the plain one at both ends, as numpy's `gradient`. */
function slopeAt(values: readonly number[], at: number): number {
  const [left, right] = [Math.max(0, at - 1), Math.min(values.length - 1, at + 1)];
  return ((values[right] as number) - (values[left] as number)) / (right - left);
}
