/** Schedules, and the rates of those of PyTorch, Keras and optax, by the cases of fixtures/schedules.py. */
import { readFileSync } from "node:fs";
import {
  cosineDecay,
  cyclic,
  exponentialDecay,
  linearSchedule,
  oneCycle,
  piecewiseConstant,
  polynomialDecay,
  type Schedule,
  warmRestarts,
  warmup,
} from "../src/entries/optim.js";

interface Rates {
  readonly steps: readonly number[];
  readonly rates: readonly number[];
}

export const scheduleFixture = JSON.parse(
  readFileSync(new URL("./fixtures/schedules.json", import.meta.url), "utf8"),
) as { readonly cases: Readonly<Record<string, Rates>> };

export const schedules: Readonly<Record<string, Schedule>> = {
  oneCycle: oneCycle(0.5, { steps: 50 }),
  oneCycleShort: oneCycle(2, { steps: 7, peakAt: 0.5 * 7 - 1 }),
  oneCycleThreePhases: oneCycle(0.5, {
    steps: 64,
    peakAt: 0.25 * 64 - 1,
    backAt: 2 * 0.25 * 64 - 2,
    divisor: 10,
    finalDivisor: 100,
    shape: "linear",
  }),
  oneCycleCosinePhases: oneCycle(0.5, { steps: 41, backAt: 2 * 0.3 * 41 - 2 }),
  oneCycleOptax: oneCycle(0.5, { steps: 45 + 1, peakAt: Math.floor(0.3 * 45) }),
  oneCycleOptaxLinear: oneCycle(0.5, {
    steps: 45 + 1,
    peakAt: Math.floor(0.3 * 45),
    backAt: Math.floor(0.85 * 45),
    divisor: 5,
    finalDivisor: 50,
    shape: "linear",
  }),
  warmRestarts: warmRestarts(0.5, { steps: 10, final: 0.01 }),
  warmRestartsLonger: warmRestarts(0.5, { steps: 3, factor: 2 }),
  warmRestartsThrice: warmRestarts(0.5, { steps: 1, factor: 3, final: 0.1 }),
  warmRestartsKeras: warmRestarts(0.5, { steps: 7, factor: 2, peakFactor: 0.8, final: 0.1 * 0.5 }),
  warmRestartsKerasSame: warmRestarts(0.5, { steps: 8, peakFactor: 0.9 }),
  warmRestartsKerasOdd: warmRestarts(0.5, { steps: 9, factor: 1.3 }),
  warmRestartsOptax: warmRestarts(0.5, { steps: 4, factor: 2, peakFactor: 0.5 }),
  cyclic: cyclic(0.1, 0.5, { up: 10 }),
  cyclicUneven: cyclic(0, 0.5, { up: 3, down: 8, decayPerCycle: 0.5 }),
  cyclicRange: cyclic(0.1, 0.5, { up: 6, decayPerStep: 0.97 }),
  cyclicSlow: cyclic(0.1, 0.5, { up: 7, decayPerStep: 0.9999 }),
  polynomial: polynomialDecay(0.5, { steps: 40, power: 2 }),
  polynomialLinear: polynomialDecay(0.5, { steps: 40 }),
  polynomialKeras: polynomialDecay(0.5, { steps: 30, final: 0.01, power: 0.5 }),
  polynomialKerasCycle: polynomialDecay(0.5, { steps: 10, final: 0.01, power: 2, cycle: true }),
  polynomialOptax: polynomialDecay(0.1, { steps: 50, final: 0.5, power: 3 }),
  warmupTorch: warmup(8, cosineDecay(0.5, { steps: 55 }), { start: 0.1 * 0.5 }),
  warmupOptax: warmup(10, cosineDecay(0.5, { steps: 50 - 10, final: 0.01 }), { start: 0.05 }),
  warmupKeras: warmup(6, cosineDecay(0.5, { steps: 40, final: 0.1 * 0.5 }), { start: 0.02 }),
  warmupFromZero: warmup(7, exponentialDecay(0.5, { decay: 0.5, every: 5 }), { start: 0 }),
  exponential: exponentialDecay(0.5, { decay: 0.9999, every: 1 }),
  exponentialKeras: exponentialDecay(0.5, { decay: 0.96, every: 20, staircase: true }),
  cosine: cosineDecay(0.5, { steps: 63, final: 0.001 }),
  cosineKeras: cosineDecay(0.5, { steps: 50 }),
  linear: linearSchedule(0.25 * 0.5, 0.75 * 0.5, 40),
  piecewiseConstant: piecewiseConstant([10, 30], [0.5, 0.05, 0.005]),
};
