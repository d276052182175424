import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { div, floor, mul } from "@mp/graph/ops";
import type { Schedule } from "../optimizer.js";
import { constantRate, positive, power, schedule } from "./schedule.js";

/** initial · decay^(step / every); with `staircase` it decays only at multiples of `every`. */
export function exponentialDecay(
  initial: number,
  options: { readonly decay: number; readonly every: number; readonly staircase?: boolean },
): Schedule {
  constantRate("exponentialDecay: initial", initial);
  const table = { decay: positive, every: positive, staircase: withDefault(false, checks.truth) };
  const hints = { example: "{ decay: 0.5, every: 1000 }" };
  const settings = readOptions("exponentialDecay", options, table, hints);
  const { decay, every, staircase } = settings;
  return schedule("exponentialDecay", { initial, ...settings }, (t) => {
    const turns = div(t, every);
    return mul(power(decay, staircase ? floor(turns) : turns), initial);
  });
}
