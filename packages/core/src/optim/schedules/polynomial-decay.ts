import type { Tensor } from "@mp/graph";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { add, cast, div, maximum, mul, pow } from "@mp/graph/ops";
import type { Schedule } from "../optimizer.js";
import { between, constantRate, positive, schedule, shareLeft } from "./schedule.js";

/**
 * (initial - final) · (1 - step / steps)^power + final over `steps`, then `final`. With `cycle` the rate starts again,
 * lower each time: once `step` exceeds `steps`, the next multiple of `steps` replaces `steps`.
 */
export function polynomialDecay(
  initial: number,
  options: {
    readonly steps: number;
    readonly final?: number;
    readonly power?: number;
    readonly cycle?: boolean;
  },
): Schedule {
  constantRate("polynomialDecay: initial", initial);
  const table = {
    steps: checks.count,
    final: withDefault(0, constantRate),
    power: withDefault(1, positive),
    cycle: withDefault(false, checks.truth),
  };
  const settings = readOptions("polynomialDecay", options, table, { example: "{ steps: 10_000 }" });
  const { steps, final, power: exponent, cycle } = settings;
  return schedule("polynomialDecay", { initial, ...settings }, (t, step) => {
    const cycles = (): Tensor => maximum(div(add(step, steps - 1), steps), 1);
    const share = shareLeft(t, cycle ? cast(mul(cycles(), steps), "f32") : steps);
    return between(final, initial, exponent === 1 ? share : pow(share, exponent));
  });
}
