import type { Tensor } from "@mp/graph";
import { type Check, described } from "@mp/graph/internal";
import { add, cast, clip, div, literal, mul, pow, sin, sub } from "@mp/graph/ops";
import { hyperparameter } from "../hyperparameter.js";
import type { Schedule } from "../optimizer.js";

/** Steps are i32, so they are below this. */
export const STEPS: number = 2 ** 31;

/** Checks a constant rate: a negative rate ascends, and an infinite rate or NaN would only show as skipped steps. */
export const constantRate: Check = hyperparameter({ from: 0 });
export const positive: Check = hyperparameter({ from: 0, open: true });

/** Makes a schedule whose name identifies it in checkpoints. `rateAt` gets the step in f32 and in i32. */
export function schedule(
  name: string,
  settings: Parameters<typeof described>[1],
  rateAt: (t: Tensor, step: Tensor) => Tensor,
): Schedule {
  const build: Schedule = (step) => rateAt(cast(step, "f32"), step);
  return Object.defineProperty(build, "name", { value: described(name, settings) });
}

export const inUnit = (x: Tensor): Tensor => clip(x, { min: 0, max: 1 });

/** Computes (1 - cos(π·x)) / 2, which rises from 0 to 1, as the square of a sine: 1 - cos would cancel near 0. */
export function halfCosine(x: Tensor): Tensor {
  const root = sin(mul(x, Math.PI / 2));
  return mul(root, root);
}

/** Interpolates linearly: `low` at 0, `high` at 1. */
export const between = (low: number, high: number, x: Tensor): Tensor => add(mul(x, high - low), low);

/** base^x, with the logarithm of the base in doubles: 0.9999 in f32 is off by 1e-8, and its 10 000th power by 1e-4. */
export const power = (base: number, x: Tensor): Tensor => pow(literal(2), mul(x, Math.log2(base)));

/** The fraction of the steps that is left at step t, exact near the end. */
export const shareLeft = (t: Tensor, steps: number | Tensor): Tensor => inUnit(div(sub(steps, t), steps));
