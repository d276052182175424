import { remat, type Tensor, tensor } from "@mp/graph";
import {
  add,
  argMax,
  cast,
  constant,
  greater,
  literal,
  matMul,
  mul,
  reduceMean,
  reduceSum,
  round,
  topK,
} from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { mixedFloat16 } from "../../src/precision/presets.js";
import type { TrainingWarning } from "../../src/train/definition/warning.js";
import { batch, loss, type SmallOptions, smallRun, stateOf } from "../small-run.js";

type Loss = SmallOptions["loss"];
type Weights = { readonly hidden: { readonly w: Tensor; readonly b: Tensor }; readonly out: Tensor };
const runOf = (wrong: unknown, options: Partial<SmallOptions> = {}) =>
  smallRun({ loss: wrong as Loss, ...options });
/** Losses here return no model state, which is a warning too. */
const notOfState = (warnings: readonly TrainingWarning[]) => warnings.filter(({ type }) => type !== "state");
const outputs = ({ hidden, out }: Weights, x: Tensor): Tensor => matMul(matMul(x, hidden.w), out);

const nothingTrained: readonly (readonly [name: string, loss: unknown, message: RegExp])[] = [
  ["a number", () => literal(1), /^loss: no gradient .* any parameter.*; make the loss of the parameters/],
  ["a constant", () => reduceSum(constant(tensor(Float32Array.of(1, 2)))), /^loss \(at .*reach\.test\.ts/],
  ["the data", (_: Weights, { x }: { x: Tensor }) => reduceMean(x), /make the loss of the parameters/],
  [
    "an argMax",
    (weights: Weights, { x }: { x: Tensor }) =>
      reduceMean(cast(argMax(outputs(weights, x), { axis: 1 }), "f32")),
    /ArgMax \(.*reach\.test\.ts:\d+:\d+; its output is an index\) lets no gradient through/,
  ],
  [
    "a comparison",
    (weights: Weights, { x }: { x: Tensor }) => reduceMean(cast(greater(outputs(weights, x), 0), "f32")),
    /Greater \(.*reach\.test\.ts:\d+:\d+; its output is bool\)/,
  ],
  [
    "the indices of a topK",
    (weights: Weights, { x }: { x: Tensor }) => reduceMean(cast(topK(outputs(weights, x), 1).indices, "f32")),
    /TopK \(.*; its output is i32\)/,
  ],
  [
    "an integer",
    (weights: Weights, { x }: { x: Tensor }) => reduceMean(cast(cast(outputs(weights, x), "i32"), "f32")),
    /Cast \(.*; its output is i32\)/,
  ],
  [
    "steps, inside a checkpoint",
    (weights: Weights, { x }: { x: Tensor }) => remat(() => reduceMean(round(outputs(weights, x))))(),
    /Round \(.*; constant between its steps\)/,
  ],
];

describe("a loss that trains nothing", () => {
  it.each(nothingTrained)("%s is refused at the first step", async (_, wrong, message) => {
    for (const options of [{}, { precision: mixedFloat16() }, { accumulate: 2 }]) {
      const training = await runOf(wrong, options);
      const before = await stateOf(training);
      const step = training.step(...Array.from({ length: options.accumulate ?? 1 }, () => batch(0)));
      await expect(step).rejects.toThrow(message);
      await expect(step).rejects.toMatchObject({ code: "MP_NOT_DIFFERENTIABLE" });
      expect(await stateOf(training)).toEqual(before);
    }
  });

  it("is refused when all that it depends on is frozen", async () => {
    const training = await runOf(({ out }: Weights) => reduceSum(out), { frozen: { out: true } });
    await expect(training.step(batch(0))).rejects.toMatchObject({ code: "MP_NOT_DIFFERENTIABLE" });
  });

  it("can be evaluated all the same", async () => {
    const training = await runOf(nothingTrained[3]?.[1]);
    expect((await training.evaluate(batch(0))).loss).toBe(0);
  });
});

describe("a loss that leaves parameters out", () => {
  const partial = ({ hidden, out }: Weights, { x }: { x: Tensor }): Tensor =>
    add(reduceMean(matMul(x, hidden.w)), reduceSum(cast(greater(out, 0), "f32")));

  it("warns once, with their names and what cuts their way, and trains the rest", async () => {
    const received: TrainingWarning[] = [];
    const training = await runOf(partial, { onWarning: (warning) => void received.push(warning) });
    const before = await training.parameters();
    for (const rows of [4, 4, 3])
      expect(await training.step(batch(0, rows))).toMatchObject({ applied: true });
    const [first, ...more] = notOfState(received);
    expect(more).toEqual([]);
    expect(first).toMatchObject({
      type: "gradient",
      message: expect.stringMatching(
        /^loss: hidden\/b, out take no part in the gradient.*Greater \(.*reach\.test\.ts:\d+:\d+;.*, or say so with frozen$/,
      ) as string,
      details: { parameters: ["hidden/b", "out"], cuts: [{ op: "Greater" }] },
    });
    expect(training.warnings).toEqual(received);
    const after = await training.parameters();
    expect(after.hidden.b).toEqual(before.hidden.b);
    expect(after.hidden.w).not.toEqual(before.hidden.w);
  });

  it("does not warn of those that are frozen, nor of any when all take part", async () => {
    const frozen = await runOf(partial, { frozen: { hidden: { b: true }, out: true } });
    await frozen.step(batch(0));
    const whole = await runOf(loss);
    await whole.step(batch(0));
    expect(notOfState([...frozen.warnings, ...whole.warnings])).toEqual([]);
  });

  it("says nothing of a gradient that is merely 0", async () => {
    const training = await runOf((weights: Weights, { x }: { x: Tensor }) =>
      add(mul(reduceMean(outputs(weights, x)), 0), reduceSum(weights.hidden.b)),
    );
    await training.step(batch(0));
    expect(notOfState(training.warnings)).toEqual([]);
  });
});
