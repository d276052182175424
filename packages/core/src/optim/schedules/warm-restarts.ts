import { type Tensor, tensor } from "@mp/graph";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import {
  add,
  cast,
  constant,
  div,
  greaterOrEqual,
  mod,
  mul,
  reduceMax,
  reduceSum,
  sub,
  where,
} from "@mp/graph/ops";
import type { Schedule } from "../optimizer.js";
import { constantRate, halfCosine, positive, power, STEPS, schedule } from "./schedule.js";

interface WarmRestartsOptions {
  /** Steps of the first cycle. */
  readonly steps: number;
  /** Length of a cycle relative to the one before: 1, or at least 1.01; default 1. */
  readonly factor?: number;
  /** Multiplies the height above `final` at each restart; default 1. */
  readonly peakFactor?: number;
  /** The rate that each cycle approaches but does not reach, because the next cycle begins; default 0. */
  readonly final?: number;
}

const isGrowth = (x: unknown): boolean => typeof x === "number" && (x === 1 || (x >= 1.01 && x < STEPS));
/** Refuses factors between 1 and 1.01, for which the table of restarts would be long. */
const growth = checks.claim("1, or from 1.01 to 2^31", isGrowth);

/** Decays along a half cosine from `initial` to `final`, then restarts (Loshchilov & Hutter, arXiv 1608.03983). */
export function warmRestarts(initial: number, options: WarmRestartsOptions): Schedule {
  constantRate("warmRestarts: initial", initial);
  const table = {
    steps: checks.count,
    factor: withDefault(1, growth),
    peakFactor: withDefault(1, positive),
    final: withDefault(0, constantRate),
  };
  const settings = readOptions("warmRestarts", options, table, { example: "{ steps: 1000 }" });
  const { steps, factor, peakFactor, final } = settings;
  return schedule("warmRestarts", { initial, ...settings }, (t, step) => {
    const { cycle, past, length } =
      factor === 1 ? equalCycle(step, steps) : growingCycle(t, step, steps, factor);
    const height = mul(halfCosine(div(sub(length, past), length)), initial - final);
    return add(peakFactor === 1 ? height : mul(height, power(peakFactor, cycle)), final);
  });
}

/** The number of a step's cycle, the steps since the cycle began, and the cycle's length. */
interface CyclePosition {
  readonly cycle: Tensor;
  readonly past: Tensor;
  readonly length: Tensor | number;
}

/** Position in cycles of equal length, counted in integers: exact at any step. */
export function equalCycle(step: Tensor, length: number): CyclePosition {
  const [cycle, past] = [div(step, length), mod(step, length)].map((x) => cast(x, "f32")) as [Tensor, Tensor];
  return { cycle, past, length };
}

/** Position in cycles that get longer. A table has the first step of each: logarithms would be off by one for some. */
function growingCycle(t: Tensor, step: Tensor, first: number, factor: number): CyclePosition {
  const starts: number[] = [];
  for (let start = first; start < STEPS; start = start * factor + first) starts.push(start);
  const begun = greaterOrEqual(step, constant(tensor(Int32Array.from(starts, Math.ceil))));
  const start = reduceMax(where(begun, constant(tensor(Float32Array.from(starts))), 0));
  // A cycle that begins at s = first · (f^i - 1) / (f - 1) has first · f^i steps.
  const length = add(mul(start, factor - 1), first);
  return { cycle: reduceSum(cast(begun, "f32")), past: sub(t, start), length };
}
