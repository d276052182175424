import { type Outputs, sharesIn } from "../definition/outputs.js";
import type { TrainingWarning } from "../definition/warning.js";

/** Largest fraction of a tensor below its format's range without a warning, since some elements have tiny gradients. */
const MOST = 0.1;

/** The warning for optimizer state below its formats' normal range; undefined if there is none. */
export function stateBelowRange(outputs: Outputs): TrainingWarning | undefined {
  const shares = Object.entries(sharesIn(outputs)).filter(([, share]) => share > MOST);
  const [worst] = shares.sort(([, a], [, b]) => b - a);
  if (worst === undefined) return undefined;
  const [name, share] = worst;
  const more = shares.length - 1;
  const others = more === 0 ? "" : `, and so do parts of ${more} more tensor${more === 1 ? "" : "s"}`;
  return {
    type: "numerics",
    message: `optimizer state ${name} lies below the normal range of its dtype in ${Math.round(100 * share)} % of its elements${others}: they lose digits or become 0; store it in f32, bf16 or u8, or, if it has no scale yet, with one, as the option states of an optimizer does`,
    details: { shares: Object.fromEntries(shares) },
  };
}
