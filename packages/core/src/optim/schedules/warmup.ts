import { checks, invalid, readOptions, shown } from "@mp/graph/internal";
import { add, cast, clip, div, mul, sub } from "@mp/graph/ops";
import type { Schedule } from "../optimizer.js";
import { constantRate, inUnit, positive, schedule } from "./schedule.js";

/**
 * Warms up linearly over `steps` steps and continues with `then`, from step 0 of that schedule. Without `start`, the
 * warmup begins at 1/steps of the first rate of `then` and reaches that rate in its last step. With `start`, it begins
 * at that rate, and `then` has its first rate in the step after the warmup, as in PyTorch, Keras and optax.
 */
export function warmup(steps: number, then: Schedule, options: { readonly start?: number } = {}): Schedule {
  positive("warmup: steps", steps);
  if (typeof then !== "function") {
    throw invalid(
      `warmup: goes on with a schedule such as cosineDecay(0.1, { steps: 10_000 }), got ${shown(then)}`,
    );
  }
  const { start } = readOptions("warmup", options, { start: checks.optional(constantRate) });
  return schedule("warmup", { steps, then, ...(start === undefined ? {} : { start }) }, (t) => {
    const past = sub(t, steps);
    const rest = then(cast(clip(past, { min: 0 }), "i32"));
    if (start === undefined) return mul(rest, clip(div(add(t, 1), steps), { max: 1 }));
    return add(mul(rest, inUnit(div(t, steps))), mul(inUnit(div(past, -steps)), start));
  });
}
