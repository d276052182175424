import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { div, minimum, mul, sub } from "@mp/graph/ops";
import type { Schedule } from "../optimizer.js";
import { between, constantRate, positive, power, schedule } from "./schedule.js";
import { equalCycle } from "./warm-restarts.js";

interface CyclicOptions {
  /** Steps from `low` to `high`. */
  readonly up: number;
  /** Steps from `high` back to `low`; default `up`. */
  readonly down?: number;
  /** Multiplies the height above `low` at each new cycle; default 1. PyTorch's `triangular2` has 0.5. */
  readonly decayPerCycle?: number;
  /** Multiplies the height above `low` at each step; default 1. `gamma` of PyTorch's `exp_range`. */
  readonly decayPerStep?: number;
}

/** Rises linearly from `low` to `high` and decays back, repeatedly (Smith, arXiv 1506.01186). Leaves momentum as is. */
export function cyclic(low: number, high: number, options: CyclicOptions): Schedule {
  constantRate("cyclic: low", low);
  constantRate("cyclic: high", high);
  const table = {
    up: checks.count,
    down: checks.optional(checks.count),
    decayPerCycle: withDefault(1, positive),
    decayPerStep: withDefault(1, positive),
  };
  const settings = readOptions("cyclic", options, table, { example: "{ up: 2000 }" });
  const { up, down = up, decayPerCycle, decayPerStep } = settings;
  return schedule("cyclic", { low, high, ...settings, down }, (t, step) => {
    const { cycle, past } = equalCycle(step, up + down);
    let height = minimum(div(past, up), div(sub(up + down, past), down));
    if (decayPerCycle !== 1) height = mul(height, power(decayPerCycle, cycle));
    if (decayPerStep !== 1) height = mul(height, power(decayPerStep, t));
    return between(low, high, height);
  });
}
