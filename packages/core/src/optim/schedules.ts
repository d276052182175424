/** Learning-rate schedules over the number of applied steps; a skipped step does not advance them. */
import { described } from "../described.js";
import { MpError } from "../errors.js";
import { checkOptions } from "../options.js";
import { shown } from "../shown.js";
import { add, div, less, mul, pow, sub, where } from "../trace/ops/binary.js";
import { literal } from "../trace/ops/source.js";
import { cast, clip, cos, floor } from "../trace/ops/unary.js";
import type { Tensor } from "../trace/tensor.js";
import { checkHyperparameter } from "./hyperparameter.js";
import type { Schedule } from "./optimizer.js";

/** Gives a schedule the name by which a checkpoint identifies it. */
const named = (name: string, schedule: Schedule): Schedule =>
  Object.defineProperty(schedule, "name", { value: name });

const asFloat = (step: Tensor): Tensor => cast(step, "f32");

/** Steps are counted in i32. */
const STEPS = 2 ** 31;

function positive(what: string, name: string, value: number): void {
  if (!(Math.fround(value) > 0 && Number.isFinite(Math.fround(value)))) {
    throw new MpError("MP_INVALID_ARGUMENT", `${what}: ${name} is above 0, got ${shown(value)}`);
  }
}

/**
 * Rejects rates when the schedule is made: a negative rate ascends, and a non-finite rate would only show as skipped
 * steps.
 */
function rates(what: string, values: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(values)) {
    checkHyperparameter(`${what}: ${name}`, value, { from: 0 });
  }
}

/** initial · decay^(step / every); `staircase` decays only at multiples of `every`. */
export function exponentialDecay(
  initial: number,
  options: { readonly decay: number; readonly every: number; readonly staircase?: boolean },
): Schedule {
  checkOptions(
    "exponentialDecay",
    options,
    { decay: true, every: true, staircase: true },
    "{ decay: 0.5, every: 1000 }",
  );
  rates("exponentialDecay", { initial });
  positive("exponentialDecay", "decay", options.decay);
  positive("exponentialDecay", "every", options.every);
  const { decay, every, staircase = false } = options;
  return named(described("exponentialDecay", { initial, decay, every, staircase }), (step) => {
    const turns = div(asFloat(step), every);
    return mul(pow(literal(decay), staircase ? floor(turns) : turns), initial);
  });
}

/** Half a cosine from `initial` to `final` (default 0) over `steps`, then `final`. */
export function cosineDecay(
  initial: number,
  options: { readonly steps: number; readonly final?: number },
): Schedule {
  checkOptions("cosineDecay", options, { steps: true, final: true }, "{ steps: 10_000 }");
  positive("cosineDecay", "steps", options.steps);
  const final = options.final ?? 0;
  rates("cosineDecay", { initial, final });
  const { steps } = options;
  return named(described("cosineDecay", { initial, steps, final }), (step) => {
    const progress = clip(div(asFloat(step), steps), { min: 0, max: 1 });
    return add(mul(add(cos(mul(progress, Math.PI)), 1), (initial - final) / 2), final);
  });
}

/** Linear from `from` to `to` over `steps`, then `to`. */
export function linearSchedule(from: number, to: number, steps: number): Schedule {
  rates("linearSchedule", { from, to });
  positive("linearSchedule", "steps", steps);
  return named(described("linearSchedule", { from, to, steps }), (step) =>
    add(mul(clip(div(asFloat(step), steps), { min: 0, max: 1 }), to - from), from),
  );
}

/**
 * Linear warmup over `steps` steps, from 1/steps of the first rate of `then` to all of it; after that `then`, whose
 * steps count from there.
 */
export function warmup(steps: number, then: Schedule): Schedule {
  positive("warmup", "steps", steps);
  if (typeof then !== "function") {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `warmup: goes on with a schedule such as cosineDecay(0.1, { steps: 10_000 }), got ${shown(then)}`,
    );
  }
  return named(described("warmup", { steps, then }), (step) => {
    const t = asFloat(step);
    const rest = then(cast(clip(sub(t, steps), { min: 0 }), "i32"));
    return mul(rest, clip(div(add(t, 1), steps), { max: 1 }));
  });
}

/** `values[i]` while step < boundaries[i], the last value beyond all of them. */
export function piecewiseConstant(boundaries: readonly number[], values: readonly number[]): Schedule {
  if (values.length !== boundaries.length + 1) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `piecewiseConstant: ${boundaries.length} boundaries take ${boundaries.length + 1} values, got ${values.length}`,
    );
  }
  values.forEach((value, index) => {
    rates("piecewiseConstant", { [`value ${index}`]: value });
  });
  boundaries.forEach((boundary, index) => {
    const isStep = Number.isInteger(boundary) && boundary < STEPS;
    if (isStep && boundary > (boundaries[index - 1] ?? -1)) return;
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `piecewiseConstant: boundaries are steps below 2^31 in ascending order, got ${boundaries.join(", ")}`,
    );
  });
  const name = described("piecewiseConstant", { boundaries: boundaries.join(" "), values: values.join(" ") });
  return named(name, (step) =>
    boundaries.reduceRight<Tensor>(
      (later, boundary, index) => where(less(step, boundary), literal(values[index] as number), later),
      literal(values.at(-1) as number),
    ),
  );
}
