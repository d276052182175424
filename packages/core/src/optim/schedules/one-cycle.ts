import { checks, invalid, readOptions, withDefault } from "@mp/graph/internal";
import { div, less, sub, where } from "@mp/graph/ops";
import type { Schedule } from "../optimizer.js";
import { between, constantRate, halfCosine, inUnit, positive, schedule } from "./schedule.js";

interface OneCycleOptions {
  /** Number of steps: step `steps - 1` and all after it have the final rate. */
  readonly steps: number;
  /** The step of the peak; default 0.3 · steps - 1, PyTorch's. */
  readonly peakAt?: number;
  /** The step at which the rate is back at the first rate. By default the rate decays directly to the final rate. */
  readonly backAt?: number;
  /** The first rate is peak / divisor; default 25. */
  readonly divisor?: number;
  /** The final rate is peak / divisor / finalDivisor; default 1e4. */
  readonly finalDivisor?: number;
  /** Default `cosine`. */
  readonly shape?: "cosine" | "linear";
}

/**
 * Rises to a peak, then decays to a rate far below the first one (Smith & Topin, arXiv 1708.07120), as PyTorch and
 * optax compute it. Does not change the momentum.
 */
export function oneCycle(peak: number, options: OneCycleOptions): Schedule {
  constantRate("oneCycle: peak", peak);
  const table = {
    steps: positive,
    peakAt: checks.optional(positive),
    backAt: checks.optional(positive),
    divisor: withDefault(25, positive),
    finalDivisor: withDefault(1e4, positive),
    shape: withDefault("cosine", checks.oneOf("cosine", "linear")),
  };
  const settings = readOptions("oneCycle", options, table, { example: "{ steps: 10_000 }" });
  const { steps, divisor, finalDivisor, shape, peakAt = 0.3 * steps - 1, backAt } = settings;
  const first = peak / divisor;
  const back = backAt === undefined ? [] : [{ step: backAt, rate: first }];
  const last = { step: steps - 1, rate: first / finalDivisor };
  const corners = [{ step: 0, rate: first }, { step: peakAt, rate: peak }, ...back, last];
  const legs = corners.slice(1).map((to, index) => ({ from: corners[index] ?? to, to }));
  if (legs.some(({ from, to }) => !(from.step < to.step))) {
    const given = corners.map(({ step }) => step).join(", ");
    throw invalid(`oneCycle: 0, peakAt, backAt and steps - 1 must ascend, got ${given}`);
  }
  const cycle = { peak, steps, peakAt, backAt: backAt ?? "none", divisor, finalDivisor, shape };
  return schedule("oneCycle", cycle, (t) => {
    const rates = legs.map(({ from, to }) => {
      const [low, high] = from.rate < to.rate ? [from, to] : [to, from];
      const share = inUnit(div(sub(t, low.step), high.step - low.step));
      return between(low.rate, high.rate, shape === "cosine" ? halfCosine(share) : share);
    });
    return rates.reduceRight((later, rate, index) =>
      where(less(t, corners[index + 1]?.step ?? 0), rate, later),
    );
  });
}
