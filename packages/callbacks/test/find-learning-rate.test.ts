import { type HostTensor, mixedFloat16, ops, type Tensor, tensor, trainer } from "@mp/core";
import { adam, byPath, settable } from "@mp/core/optim";
import { reference } from "@mp/core/reference";
import { describe, expect, it } from "vitest";
import { earlyStopping, findLearningRate } from "../src/index.js";
import { batches, smallRun } from "./small-run.js";

/** A trainer whose losses are those of the list, whatever it does. */
function scripted(losses: readonly number[]) {
  let made = 0;
  const set: number[] = [];
  return {
    set,
    rates: async () => ({ default: 1 }),
    setRates: async ({ default: rate }: Readonly<Record<string, unknown>>) => void set.push(rate as number),
    async *steps(data: readonly number[]) {
      for (const _ of data) yield { loss: losses[made++] ?? Number.NaN };
    },
    saveBytes: async () => new Uint8Array(),
    loadBytes: async () => undefined,
  };
}

/** A loss that falls from 2.3 to 0.6 around step 40 and rises steeply after step 75. */
const curve = (count: number): number[] =>
  Array.from(
    { length: count },
    (_, at) =>
      2.3 - 1.7 / (1 + Math.exp((40 - at) / 4)) + 0.002 * Math.sin(at * 1.7) + Math.exp((at - 80) / 3),
  );

describe("findLearningRate", () => {
  // Of pytorch-lightning 2.6.6, by test/fixtures/learning-rate.py with the losses of `curve`.
  it("smooths, stops and suggests as Lightning does", async () => {
    const found = await findLearningRate(scripted(curve(100)), [1, 2, 3, 4, 5, 6, 7], {
      from: 1e-6,
      smoothing: 0.9,
    });
    expect(found.losses.length).toBe(88);
    expect(found.losses[50]).toBeCloseTo(1.2760818846799165, 12);
    expect(found.losses.at(-1)).toBeCloseTo(3.5196041271404948, 12);
    expect(found.rates.indexOf(found.suggestion ?? 0)).toBe(45);
  });

  it("makes rates that grow by one factor, from the first to the last", async () => {
    const training = scripted(Array.from({ length: 20 }, () => 1));
    const { rates } = await findLearningRate(training, [1, 2, 3], { from: 1e-4, to: 1, steps: 20 });
    expect(rates.length).toBe(20);
    expect(rates[0]).toBe(1e-4);
    expect(rates[19]).toBeCloseTo(1, 12);
    for (const [at, rate] of rates.slice(1).entries())
      expect(rate / (rates[at] as number)).toBeCloseTo(10 ** (4 / 19), 9);
    expect(training.set.slice(0, 20)).toEqual(rates);
  });

  it("ends at a loss that is not finite, and may have nothing to suggest", async () => {
    const { suggestion, losses } = await findLearningRate(scripted([3, 2, 1]), [1, 2]);
    expect(losses.length).toBe(3);
    expect(suggestion).toBeUndefined();
  });

  it("leaves the run as it was: state, scaler and position", async () => {
    const vector = (value: number) => tensor(new Float32Array(3).fill(value));
    const training = await trainer({
      backend: await reference(),
      params: { a: vector(1), b: vector(2) },
      loss: ({ a, b }, { x }: { x: Tensor }) => ops.reduceMean(ops.square(ops.sub(ops.mul(a, x), b))),
      optimizer: byPath(
        [{ group: "slow", paths: (path) => path === "a", optimizer: adam({ learningRate: settable(1e-3) }) }],
        adam({ learningRate: settable(2e-3) }),
      ),
      precision: mixedFloat16(),
      onWarning: () => undefined,
    });
    const data = [3, 0.5, 900].map((value) => ({ x: vector(value) }));
    await training.fit(data, { steps: 4, epochs: 2 });
    const before = await training.saveBytes();
    const scaler = await training.scalerState();
    const { losses } = await findLearningRate(training, data, {
      from: 1e-4,
      to: 100,
      steps: 30,
      divergence: 1e9,
    });
    expect(losses.length).toBeGreaterThan(13);
    expect(await training.saveBytes()).toEqual(before);
    expect(await training.scalerState()).toEqual(scaler);
    expect(await training.rates()).toEqual({ slow: Math.fround(1e-3), default: Math.fround(2e-3) });
    // The next step is the second of the second pass, as without the test.
    const seen: number[] = [];
    await training.fit(data, {
      epochs: 2,
      onStep: ({ batches: [first] }) =>
        void seen.push(Number((first as { readonly x: HostTensor }).x.data[0])),
    });
    expect(seen).toEqual([0.5, 900]);
  });

  it("does not look like a resumed run to callbacks", async () => {
    const training = await smallRun();
    await findLearningRate(training, batches(3), { from: 1e-5 });
    await training.fit(batches(3), { callbacks: [earlyStopping({ monitor: "loss" })] });
    expect(training.warnings.filter(({ type }) => type === "checkpoint")).toEqual([]);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    [
      "a range upside down",
      () => findLearningRate(scripted([]), [], { from: 1, to: 1 }),
      "from must be below to, got 1 and 1",
    ],
    [
      "too few steps",
      () => findLearningRate(scripted([]), [], { steps: 9 }),
      "steps must be an integer ≥ 20, got 9",
    ],
    [
      "a smoothing of 1",
      () => findLearningRate(scripted([]), [], { smoothing: 1 }),
      "smoothing must be a number ≥ 0 and below 1",
    ],
    ["no batches", () => findLearningRate(scripted([]), []), "data must have batches in each pass"],
    [
      "a rate that cannot be set",
      async () => findLearningRate(await smallRun({ isSettable: false }), batches(1)),
      "no learning rate can be set; make it so: learningRate: settable(1e-3)",
    ],
  ])("refuses %s", async (_name, find, message) => {
    await expect(find()).rejects.toMatchObject({
      code: "MP_INVALID_ARGUMENT",
      message: expect.stringContaining(`findLearningRate: ${message}`),
    });
  });
});
