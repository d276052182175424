/** Gives every option of schedules and newer optimizers values outside its range: each is refused by its name. */
import { describe, expect, it } from "vitest";
import { adam } from "./adam.js";
import { adamax } from "./adamax.js";
import { ftrl } from "./ftrl.js";
import { cosineDecay } from "./schedules/cosine-decay.js";
import { cyclic } from "./schedules/cyclic.js";
import { exponentialDecay } from "./schedules/exponential-decay.js";
import { linearSchedule } from "./schedules/linear-schedule.js";
import { oneCycle } from "./schedules/one-cycle.js";
import { polynomialDecay } from "./schedules/polynomial-decay.js";
import { warmRestarts } from "./schedules/warm-restarts.js";
import { warmup } from "./schedules/warmup.js";

const NEVER = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, "1", null, [1], {}, 1n];
/** Values that options of each kind refuse, and values at the edges that they take. */
const KINDS = {
  positive: { refused: [...NEVER, true, 0, -0, -1, 1e-50, 1e39], taken: [2 ** -140, 1, 1e30] },
  atLeastZero: { refused: [...NEVER, true, -1, -1e-40, 1e39], taken: [0, 2 ** -140, 1e30] },
  epsilon: { refused: [...NEVER, true, 0, -1, 2 ** -101], taken: [2 ** -100, 1] },
  count: { refused: [...NEVER, true, 0, -1, 0.5, 1.5, 2 ** 31], taken: [1, 2, 2 ** 31 - 2] },
  growth: { refused: [...NEVER, true, 0, -1, 0.99, 1.001, 2 ** 31], taken: [1, 1.01, 2, 1000] },
  truth: { refused: [...NEVER, 0, 1, "true"], taken: [true, false] },
  amsgrad: { refused: [...NEVER, 0, 1, "max"], taken: [true, false, "corrected"] },
  secondMoment: { refused: [...NEVER, true, "square"], taken: ["adam", "belief", "yogi"] },
  shape: { refused: [...NEVER, true, "cos"], taken: ["cosine", "linear"] },
} as const;
type Kind = keyof typeof KINDS;

type Make = (options: object) => unknown;
interface Options {
  readonly make: Make;
  /** Options that are enough to make the part. */
  readonly base: object;
  readonly kinds: Readonly<Record<string, Kind>>;
}

const OPTIONS: Readonly<Record<string, Options>> = {
  adam: {
    make: (options) => adam(options as never),
    base: { learningRate: 1 },
    kinds: { amsgrad: "amsgrad", secondMoment: "secondMoment", initialAccumulator: "atLeastZero" },
  },
  adamax: {
    make: (options) => adamax(options as never),
    base: { learningRate: 1 },
    kinds: { epsilonOutside: "truth" },
  },
  ftrl: {
    make: (options) => ftrl(options as never),
    base: { learningRate: 1 },
    kinds: {
      learningRate: "positive",
      power: "atLeastZero",
      initialAccumulator: "epsilon",
      l1: "atLeastZero",
      l2: "atLeastZero",
      l2Shrinkage: "atLeastZero",
      beta: "atLeastZero",
    },
  },
  exponentialDecay: {
    make: (options) => exponentialDecay(1, options as never),
    base: { decay: 0.5, every: 10 },
    kinds: { decay: "positive", every: "positive", staircase: "truth" },
  },
  cosineDecay: {
    make: (options) => cosineDecay(1, options as never),
    base: { steps: 10 },
    kinds: { steps: "positive", final: "atLeastZero" },
  },
  polynomialDecay: {
    make: (options) => polynomialDecay(1, options as never),
    base: { steps: 10 },
    kinds: { steps: "count", final: "atLeastZero", power: "positive", cycle: "truth" },
  },
  warmRestarts: {
    make: (options) => warmRestarts(1, options as never),
    base: { steps: 10 },
    kinds: { steps: "count", factor: "growth", peakFactor: "positive", final: "atLeastZero" },
  },
  cyclic: {
    make: (options) => cyclic(0, 1, options as never),
    base: { up: 10 },
    kinds: { up: "count", down: "count", decayPerCycle: "positive", decayPerStep: "positive" },
  },
  oneCycle: {
    make: (options) => oneCycle(1, options as never),
    base: { steps: 10 },
    kinds: { divisor: "positive", finalDivisor: "positive", shape: "shape" },
  },
  warmup: {
    make: (options) => warmup(10, cosineDecay(1, { steps: 10 }), options as never),
    base: {},
    kinds: { start: "atLeastZero" },
  },
};

const refused = (make: () => unknown, subject: string, value: unknown): void => {
  const label = `${subject} of ${typeof value === "bigint" ? `${value}n` : JSON.stringify(value)} ${value}`;
  expect(make, label).toThrow(new RegExp(`^${subject} must be `));
  expect(make, label).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
};

describe.each(Object.entries(OPTIONS))("%s", (name, { make, base, kinds }) => {
  it.each(Object.entries(kinds))("%s", (option, kind) => {
    for (const value of KINDS[kind].taken) {
      expect(() => make({ ...base, [option]: value }), `${value}`).not.toThrow();
    }
    for (const value of KINDS[kind].refused) {
      refused(() => make({ ...base, [option]: value }), `${name}: ${option}`, value);
    }
  });

  it("is refused an option that it lacks", () => {
    expect(() => make({ ...base, noSuchOption: 1 })).toThrow(`${name}: has no option "noSuchOption"`);
  });
});

describe("rates of schedules", () => {
  it.each<[string, (rate: never) => unknown]>([
    ["exponentialDecay: initial", (rate) => exponentialDecay(rate, { decay: 0.5, every: 10 })],
    ["cosineDecay: initial", (rate) => cosineDecay(rate, { steps: 10 })],
    ["polynomialDecay: initial", (rate) => polynomialDecay(rate, { steps: 10 })],
    ["warmRestarts: initial", (rate) => warmRestarts(rate, { steps: 10 })],
    ["oneCycle: peak", (rate) => oneCycle(rate, { steps: 10 })],
    ["cyclic: low", (rate) => cyclic(rate, 1, { up: 10 })],
    ["cyclic: high", (rate) => cyclic(0, rate, { up: 10 })],
    ["linearSchedule: from", (rate) => linearSchedule(rate, 1, 10)],
    ["linearSchedule: to", (rate) => linearSchedule(0, rate, 10)],
  ])("%s", (subject, make) => {
    for (const value of KINDS.atLeastZero.taken) expect(() => make(value as never)).not.toThrow();
    for (const value of KINDS.atLeastZero.refused) refused(() => make(value as never), subject, value);
  });
});

it("oneCycle refuses corners that do not ascend, and those that are no steps", () => {
  for (const steps of [4, 10, 1000]) {
    const last = steps - 1;
    for (const peakAt of [1, last / 2, last - 0.5]) {
      expect(() => oneCycle(1, { steps, peakAt })).not.toThrow();
      for (const backAt of [0.5, peakAt, last, 2 * last]) {
        if (peakAt < backAt && backAt < last) continue;
        expect(() => oneCycle(1, { steps, peakAt, backAt })).toThrow(/^oneCycle: .* must ascend, got 0, /);
      }
    }
    for (const peakAt of [last, steps, 1e9]) {
      expect(() => oneCycle(1, { steps, peakAt })).toThrow(/^oneCycle: .* must ascend/);
    }
  }
  for (const steps of [0.5, 1, 2, 3])
    expect(() => oneCycle(1, { steps })).toThrow(/^oneCycle: .* must ascend/);
  for (const option of ["steps", "peakAt", "backAt"]) {
    for (const value of KINDS.positive.refused) {
      refused(() => oneCycle(1, { steps: 10, [option]: value } as never), `oneCycle: ${option}`, value);
    }
  }
});
