// Learning rates that the host sets between steps.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tensor } from "@mp/graph";
import { mul, reduceMean } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it, vi } from "vitest";
import { loadTensors, saveTensors } from "../../src/checkpoint/files.js";
import { adamW } from "../../src/optim/adam.js";
import { byPath } from "../../src/optim/by-path.js";
import { chain } from "../../src/optim/chain.js";
import { settable } from "../../src/optim/settable.js";
import { momentum, sgd } from "../../src/optim/sgd.js";
import { weightDecay } from "../../src/optim/weight-decay.js";
import { trainer } from "../../src/train/trainer.js";
import { batch, type SmallOptions, smallRun, stateOf } from "../small-run.js";

/** A run, and how many graphs its engine has compiled. */
async function counted(options: Partial<SmallOptions>) {
  const backend = await reference();
  const compile = vi.spyOn(backend, "compile");
  return { training: await smallRun({ ...options, backend }), compilations: () => compile.mock.calls.length };
}

describe("a rate that the host sets", () => {
  it("makes the steps that a constant rate makes, each time without a compilation", async () => {
    const { training, compilations } = await counted({
      optimizer: momentum({ learningRate: settable(0.5) }),
    });
    expect(await training.step(batch(0))).toMatchObject({ rates: { default: 0.5 } });
    const before = compilations();
    await training.setRates({ default: 0.125 });
    expect(await training.step(batch(1))).toMatchObject({ rates: { default: 0.125 } });
    await training.setRates({ default: 0 });
    const still = await training.parameters();
    await training.step(batch(2));
    expect(await training.parameters()).toEqual(still);
    // One for `parameters`.
    expect(compilations()).toBe(before + 1);

    const constant = (learningRate: number) => smallRun({ optimizer: momentum({ learningRate }) });
    const [first, second] = [await constant(0.5), await constant(0.125)];
    await first.step(batch(0));
    await second.loadBytes(await first.saveBytes());
    await second.step(batch(1));
    expect(still).toEqual(await second.parameters());
  });

  it("is saved, and comes back whatever the new run starts from", async () => {
    const optimizer = (initial: number) =>
      chain(weightDecay(0.1), adamW({ learningRate: settable(initial) }));
    const whole = await smallRun({ optimizer: optimizer(0.1) });
    await whole.step(batch(0));
    await whole.setRates({ default: 0.01 });
    const resumed = await smallRun({ optimizer: optimizer(7) });
    await resumed.loadBytes(await whole.saveBytes());
    expect(resumed.warnings).toEqual([]);
    expect(await resumed.step(batch(1))).toEqual(await whole.step(batch(1)));
    expect(await stateOf(resumed)).toEqual(await stateOf(whole));
  });

  it("is that of its group, and of groups in groups", async () => {
    const inner = byPath(
      [{ group: "b", paths: "hidden/b", optimizer: sgd({ learningRate: settable(0.5) }) }],
      sgd({ learningRate: settable(0.25) }),
    );
    const optimizer = byPath(
      [{ group: "body", paths: "hidden", optimizer: inner }],
      sgd({ learningRate: 0.125 }),
    );
    for (const accumulate of [1, 2]) {
      const training = await smallRun({ optimizer, accumulate });
      const step = () => training.step(...Array.from({ length: accumulate }, () => batch(0)));
      expect((await step()).rates).toEqual({ body: 0.25, "body.b": 0.5, default: 0.125 });
      const { hidden, out } = await training.parameters();
      await training.setRates({ "body.b": 0 });
      expect((await step()).rates).toEqual({ body: 0.25, "body.b": 0, default: 0.125 });
      const after = await training.parameters();
      expect(after.hidden.b).toEqual(hidden.b);
      expect(after.hidden.w).not.toEqual(hidden.w);
      expect(after.out).not.toEqual(out);
    }
  });

  it("may be set by a callback of fit, as ReduceLROnPlateau does", async () => {
    const training = await smallRun({ optimizer: sgd({ learningRate: settable(1) }) });
    const rates: number[] = [];
    await training.fit([batch(0), batch(1), batch(2)], {
      onStep: async ({ rates: { default: rate = 0 } }) => {
        rates.push(rate);
        await training.setRates({ default: rate / 2 });
      },
    });
    expect(rates).toEqual([1, 0.5, 0.25]);
  });

  it("is one of each objective", async () => {
    const params = { a: tensor(Float32Array.of(1, 2)), b: tensor(Float32Array.of(3, 4)) };
    const optimizer = sgd({ learningRate: settable(0.5) });
    const training = await trainer({
      backend: await reference(),
      params,
      objectives: {
        first: { loss: ({ a }) => reduceMean(mul(a, a)), params: { a: true }, optimizer },
        second: { loss: ({ b }) => reduceMean(mul(b, b)), params: { b: true }, optimizer },
      },
      onWarning: () => undefined,
    });
    await training.setRates({ second: { default: 0.25 } });
    expect(await training.step({})).toMatchObject({
      first: { rates: { default: 0.5 } },
      second: { rates: { default: 0.25 } },
    });
    expect(await training.parameters()).toMatchObject({
      a: { data: Float32Array.of(0.5, 1) },
      b: { data: Float32Array.of(2.25, 3) },
    });
    await expect(training.setRates({ third: { default: 1 } } as never)).rejects.toThrow(
      "setRates: there is no objective third",
    );
  });

  it.each<[unknown, string]>([
    [0.1, "setRates: takes rates by group"],
    [{ head: 0.1 }, "setRates: head is no rate that can be set, those are default"],
    [{ default: -1 }, "setRates: default must be at least 0 in f32, got -1"],
    [{ default: Number.POSITIVE_INFINITY }, "setRates: default must be at least 0 in f32"],
    [{ default: "1" }, "setRates: default must be at least 0 in f32"],
  ])("is not set to %j", async (rates, message) => {
    const training = await smallRun({ optimizer: sgd({ learningRate: settable(0.5) }) });
    await expect(training.setRates(rates as never)).rejects.toThrow(message);
    expect((await training.step(batch(0))).rates).toEqual({ default: 0.5 });
  });

  it("is not one that was made a constant", async () => {
    const training = await smallRun({ optimizer: sgd({ learningRate: 0.5 }) });
    await expect(training.setRates({ default: 1 })).rejects.toThrow(
      /default is no rate that can be set, none is; .*settable\(1e-3\)/,
    );
    expect(() => settable(Number.NaN)).toThrow(
      "settable: the initial rate must be at least 0 in f32, got NaN",
    );
  });

  it.each([-1, Number.NaN])("is refused from a file as %d", async (rate) => {
    const folder = await mkdtemp(join(tmpdir(), "mp-settable-"));
    const path = join(folder, "run");
    const training = await smallRun({ optimizer: sgd({ learningRate: settable(0.5) }) });
    await training.save(path);
    const { tensors, metadata } = await loadTensors(path);
    await saveTensors(path, { ...tensors, "rates/default": tensor(Float32Array.of(rate), []) }, metadata);
    await expect(training.load(path)).rejects.toThrow(/rates\/default is (-1|NaN): a run keeps it from 0/);
    await rm(folder, { recursive: true });
  });
});
