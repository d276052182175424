/**
 * Whole runs of every optimizer beside those of PyTorch, Keras and optax in double precision: twelve steps from the same weights on the same
 * gradients, each step from the one before it, and with a loss scale of 2^16 the same bits as without one.
 */

import { type HostTensor, type Tensor, tensor } from "@mp/graph";
import { add, mul, reduceSum } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import * as optim from "../../src/entries/optim.js";
import { adamW } from "../../src/optim/adam.js";
import { byPath } from "../../src/optim/by-path.js";
import { chain } from "../../src/optim/chain.js";
import { clipByGlobalNorm } from "../../src/optim/clip.js";
import type { Optimizer } from "../../src/optim/optimizer.js";
import { sgd } from "../../src/optim/sgd.js";
import { noLossScaling, staticLossScale } from "../../src/precision/loss-scaler.js";
import { float32 } from "../../src/precision/presets.js";
import { trainer } from "../../src/train/trainer.js";
import { covered, moreFixture, moreOptimizers } from "../more-peer-optimizers.js";
import { fixture, optimizers, type Rows } from "../peer-optimizers.js";

interface Halves {
  readonly a: HostTensor<"f32">;
  readonly b: HostTensor<"f32">;
}
const halves = (row: readonly number[]): Halves => ({
  a: tensor(Float32Array.from(row.slice(0, 4))),
  b: tensor(Float32Array.from(row.slice(4))),
});
const matrixAndVector = (row: readonly number[]): Halves => ({
  a: tensor(Float32Array.from(row.slice(0, 6)), [2, 3]),
  b: tensor(Float32Array.from(row.slice(6))),
});
const joined = ({ a, b }: Halves): number[] => [...a.data, ...b.data];

interface Run {
  readonly optimizer: Optimizer;
  readonly clipNorm?: number;
  /** Default: those of the first fixture, as two vectors. */
  readonly data?: Pick<typeof fixture, "start" | "gradients"> & {
    readonly split: (row: readonly number[]) => Halves;
  };
}

/** Weights and their average after each step of a loss whose gradients are those of the fixture. */
async function run({ data = { ...fixture, split: halves }, ...options }: Run, scale: number) {
  const training = await trainer({
    ...options,
    backend: await reference(),
    params: data.split(data.start),
    loss: ({ a, b }, batch: { a: Tensor; b: Tensor }) =>
      add(reduceSum(mul(a, batch.a)), reduceSum(mul(b, batch.b))),
    precision: { ...float32(), lossScaler: scale === 1 ? noLossScaling() : staticLossScale(scale) },
    ema: { decay: 0.9 },
    onWarning: () => undefined,
  });
  const [weights, averages]: [number[][], number[][]] = [[], []];
  for (const gradient of data.gradients) {
    expect(await training.step(data.split(gradient))).toMatchObject({ applied: true, scale });
    weights.push(joined(await training.parameters()));
    averages.push(joined(await training.parameters({ weights: "ema" })));
  }
  await training.dispose();
  return { weights, averages };
}

function expectClose(got: Rows, want: Rows | undefined): void {
  expect(want).toHaveLength(12);
  for (const [step, row] of (want ?? []).entries()) {
    for (const [index, value] of row.entries()) {
      const distance = Math.abs((got[step]?.[index] ?? Number.NaN) - value);
      expect(distance, `step ${step}, weight ${index}`).toBeLessThanOrEqual(
        1e-5 * Math.max(1, Math.abs(value)),
      );
    }
  }
}

describe("twelve steps are those of the peers, and the same bits at a loss scale of 2^16", () => {
  it("for every case of the fixture", () => {
    expect(Object.keys(optimizers)).toEqual(Object.keys(fixture.weights));
  });

  it.each(Object.entries(optimizers))("%s", async (name, optimizer) => {
    const plain = await run({ optimizer }, 1);
    expectClose(plain.weights, fixture.weights[name]);
    expect(await run({ optimizer }, 2 ** 16)).toEqual(plain);
  });

  it.each(Object.entries(moreOptimizers))("%s, of a matrix and a vector", async (name, optimizer) => {
    const data = { ...moreFixture, split: matrixAndVector };
    const plain = await run({ optimizer, data }, 1);
    expectClose(plain.weights, moreFixture.weights[name]);
    expect(await run({ optimizer, data }, 2 ** 16)).toEqual(plain);
  });

  it("for every case of the second fixture, and for everything that @mp/core/optim exports", () => {
    expect(Object.keys(moreOptimizers)).toEqual(Object.keys(moreFixture.weights));
    expect(Object.keys(covered).sort()).toEqual(Object.keys(optim).sort());
    const cases = Object.values<object>(covered).flatMap((cases) => (Array.isArray(cases) ? cases : []));
    expect([...new Set(cases)].sort()).toEqual(Object.keys(moreOptimizers).sort());
    const first = Object.values<object>(covered).flatMap((cases) => ("first" in cases ? cases.first : []));
    expect(Object.keys(optimizers)).toEqual(expect.arrayContaining(first as string[]));
  });

  const { limit, weights } = fixture.clipByGlobalNorm;
  it.each<[string, Run]>([
    ["clipNorm", { optimizer: sgd({ learningRate: 0.1 }), clipNorm: limit }],
    ["clipByGlobalNorm", { optimizer: chain(clipByGlobalNorm(limit), sgd({ learningRate: 0.1 })) }],
  ])("%s", async (_name, options) => {
    const plain = await run(options, 1);
    expectClose(plain.weights, weights);
    expect(await run(options, 2 ** 16)).toEqual(plain);
  });

  it("two groups with a rate and a decay each, and the average of both", async () => {
    const optimizer = byPath(
      [{ group: "first", paths: "a", optimizer: adamW({ learningRate: 0.05, weightDecay: 0 }) }],
      adamW({ learningRate: 0.01, weightDecay: 0.3 }),
    );
    const plain = await run({ optimizer }, 1);
    expectClose(plain.weights, fixture.grouped.weights);
    expectClose(plain.averages, fixture.grouped.averages);
    expect(await run({ optimizer }, 2 ** 16)).toEqual(plain);
  });
});
