import { type HostTensor, tensor } from "@mp/graph";
import { expect, it } from "vitest";
import { runTraced, runTrees } from "../../../graph/test/run-traced.js";
import { numbers, updatesOf } from "../../test/updates-of.js";
import { adafactor } from "./adafactor.js";
import type { Schedule } from "./optimizer.js";

it("adafactor keeps means of rows and columns, of the last two axes, and takes parameters of any shape", () => {
  const shapes = { scalar: [], vector: [3], matrix: [2, 3], kernel: [4, 2, 3, 5], none: [0, 3] };
  const zeros = Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => [
      name,
      tensor(new Float32Array(shape.reduce((count, size) => count * size, 1)), shape),
    ]),
  );
  const state = runTrees(zeros, (parameters) => adafactor().init(parameters)) as {
    readonly [part in "row" | "column"]: Readonly<Record<string, HostTensor>>;
  };
  const summary = (part: Readonly<Record<string, HostTensor>>) =>
    Object.fromEntries(Object.entries(part).map(([name, { shape }]) => [name, shape]));
  expect(summary(state.row)).toEqual({
    scalar: [],
    vector: [3],
    matrix: [2, 1],
    kernel: [4, 2, 3, 1],
    none: [0, 3],
  });
  expect(summary(state.column)).toEqual({
    scalar: [],
    vector: [],
    matrix: [1, 3],
    kernel: [4, 2, 1, 5],
    none: [],
  });
  const ones = Object.fromEntries(
    Object.entries(zeros).map(([name, { shape, data }]) => [
      name,
      tensor(new Float32Array(data.length).fill(1), shape),
    ]),
  );
  const [updates] = updatesOf(adafactor(), [ones], [ones]);
  for (const [name, update] of Object.entries(updates as Record<string, HostTensor>)) {
    expect(update.shape, name).toEqual(shapes[name as keyof typeof shapes]);
    for (const number of numbers(update)) expect(number, name).toBeCloseTo(-0.01, 6);
  }
});

it("adafactor tells the rate of each step, at most 1/√t", () => {
  const { default: learningRate } = adafactor({ learningRate: 0.5 }).learningRates ?? {};
  const rateAt = (step: number): number | undefined =>
    numbers(
      runTraced({ step: tensor(Int32Array.of(step), []) }, ({ step }) => (learningRate as Schedule)(step)),
    )[0];
  expect([0, 3, 15, 99].map(rateAt)).toEqual([0.5, 0.5, 0.25, Math.fround(0.1)]);
});
