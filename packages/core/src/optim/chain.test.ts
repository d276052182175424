// A chain is an optimizer after transformations of its gradients; any other order is an error.

import { MpError, mapTensors, type Tensor, tensor } from "@mp/graph";
import { add, literal, mul, reduceSum, sub } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { runTraced } from "../../../graph/test/run-traced.js";
import { smallRun } from "../../test/small-run.js";
import { float32 } from "../precision/presets.js";
import { trainer } from "../train/trainer.js";
import { chain } from "./chain.js";
import { clipByGlobalNorm, clipByValue } from "./clip.js";
import type { GradientTransformation, Optimizer } from "./optimizer.js";
import { rmsProp } from "./rms-prop.js";
import { momentum, type SgdOptions, sgd } from "./sgd.js";
import { weightDecay } from "./weight-decay.js";

const descent = sgd({ learningRate: 0.1 });
const moving = momentum({ learningRate: 0.1 });
/** `chain` as JavaScript calls it, without types. */
const anyChain = chain as unknown as (...parts: readonly unknown[]) => Optimizer;

/** Halves gradients and counts how often it did. */
const halving: GradientTransformation<{ readonly seen: Tensor }> = {
  kind: "gradient",
  name: "halving",
  init: () => ({ seen: literal(0) }),
  update: (gradients, { seen }) => ({
    updates: mapTensors((g) => mul(g, 0.5), gradients),
    state: { seen: add(seen, 1) },
  }),
};

describe("a chain", () => {
  it("runs in the order given, each part with a state of its own", () => {
    const optimizer = chain(
      halving,
      clipByValue(1),
      weightDecay(0.5),
      momentum({ learningRate: 1, momentum: 0.5 }),
    );
    expect(optimizer.name).toBe("halving · clipByValue(1) · weightDecay(0.5) · momentum");
    expect(optimizer.kind).toBeUndefined();
    const data = { g: tensor(Float32Array.of(3)), w: tensor(Float32Array.of(2)) };
    const { updates, state } = runTraced(data, ({ g, w }) =>
      optimizer.update(g, optimizer.init(w) as never, w, { step: literal(0, "i32") }),
    );
    // 3 halved is 1.5, clipped 1, and a decay of 0.5 · 2.
    expect(updates).toMatchObject({ data: Float32Array.of(-2) });
    expect(state.parts).toMatchObject([
      { seen: { data: Float32Array.of(1) } },
      {},
      {},
      { velocity: { data: Float32Array.of(2) } },
    ]);
  });

  it("of a chain at its end is one", () => {
    const nested = chain(clipByGlobalNorm(1), chain(weightDecay(0.1), descent));
    expect(nested.name).toBe("clipByGlobalNorm(1) · weightDecay(0.1) · sgd");
  });

  it.each<readonly [string, readonly unknown[], string]>([
    [
      "two optimizers, which would climb",
      [rmsProp({ learningRate: 0.1 }), moving],
      "rmsProp and momentum are 2 optimizers, where the second would take the first's steps for gradients, got rmsProp, momentum; keep one",
    ],
    [
      "an optimizer between",
      [clipByValue(1), descent, weightDecay(0.1)],
      "the optimizer stands last, got clipByValue(1), sgd, weightDecay(0.1); the order that works is clipByValue(1), weightDecay(0.1), sgd",
    ],
    [
      "an optimizer first",
      [descent, weightDecay(0.1)],
      "the optimizer stands last, got sgd, weightDecay(0.1); the order that works is weightDecay(0.1), sgd",
    ],
    [
      "gradients alone",
      [weightDecay(0.1)],
      "no optimizer ends it, got weightDecay(0.1); put one last, such as sgd({ learningRate: 0.1 })",
    ],
    ["nothing", [], "no optimizer ends it, got nothing"],
    ["what is no part", [clipByValue(1), undefined], "undefined is no optimizer"],
    ["a factory that was not called", [clipByValue(1), sgd], "the function sgd is no optimizer"],
    [
      "a kind that is none",
      [{ ...halving, kind: "direction" }, descent],
      'the kind of halving is "direction", and there are "gradient" and "descent"',
    ],
  ])("refuses %s", (_name, parts, message) => {
    const made = (): unknown => anyChain(...parts);
    expect(made).toThrow(MpError);
    expect(made).toThrow(`chain: ${message}`);
    expect(made).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
  });
});

describe("an optimizer's own word", () => {
  it("keeps what gives gradients out of a trainer", async () => {
    for (const part of [clipByValue(1), weightDecay(0.1), halving]) {
      await expect(smallRun({ optimizer: part as unknown as Optimizer })).rejects.toMatchObject({
        code: "MP_INVALID_ARGUMENT",
        message: `trainer: ${part.name} gives gradients and no steps; put an optimizer behind it: chain(${part.name}, sgd({ learningRate: 0.1 }))`,
      });
    }
    const odd = { ...descent, kind: "direction" } as unknown as Optimizer;
    await expect(smallRun({ optimizer: odd })).rejects.toThrow('optimizer sgd has the kind "direction"');
  });

  it.each<readonly [string, (options: SgdOptions) => Optimizer]>([
    ["clipByGlobalNorm", (options) => chain(clipByGlobalNorm(1), sgd(options))],
    ["clipByValue", (options) => chain(clipByValue(1), momentum(options))],
    ["weightDecay", (options) => chain(weightDecay(0.1), rmsProp(options))],
  ])("%s before an optimizer goes downhill", async (_name, make) => {
    const training = await trainer({
      backend: await reference(),
      params: { w: tensor(Float32Array.of(4)) },
      loss: ({ w }) => reduceSum(mul(sub(w, 1), sub(w, 1))),
      optimizer: make({ learningRate: 0.1 }),
      precision: float32(),
    });
    for (let step = 0; step < 40; step++) await training.step({});
    const { w } = await training.parameters();
    expect(Math.abs(Number(w.data[0]) - 1)).toBeLessThan(1.5);
  });
});
