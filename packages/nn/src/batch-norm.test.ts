import { readFileSync } from "node:fs";
import {
  type HostTensor,
  key,
  mixedFloat16,
  sgd,
  type Tensor,
  tensor,
  trainer,
  valueAndGrad,
} from "@mp/core";
import { mul, reduceSum, relu } from "@mp/core/ops";
import type { RawTensor } from "@mp/core/reference";
import { reference } from "@mp/core/reference";
import { describe, expect, it } from "vitest";
import { numbers, run } from "../test/run-layer.js";
import { batchNorm, dense, sequential, softmaxCrossEntropy } from "./index.js";

interface Numbers {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}
const names = [
  "x",
  "scale",
  "bias",
  "first",
  "weights",
  "y",
  "mean",
  "variance",
  "evaluated",
  "dx",
  "dscale",
  "dbias",
] as const;
type Case = Readonly<Record<(typeof names)[number], Numbers>>;
const { cases } = JSON.parse(
  readFileSync(new URL("../test/fixtures/batch-norm.json", import.meta.url), "utf8"),
) as { readonly cases: readonly Case[] };

const host = ({ shape, data }: Numbers): HostTensor<"f32"> => tensor(Float32Array.from(data), shape);
const at = (training: boolean) => ({ training, key: key(0) });

describe.each(cases.map((entry) => [entry.x.shape.join(", "), entry] as const))(
  "batchNorm of [%s]",
  (_, entry) => {
    const layer = batchNorm(entry.scale.shape[0] ?? 0);
    const data = Object.fromEntries(names.slice(0, 5).map((name) => [name, host(entry[name])]));
    const inputs = { ...data, state: layer.initState() } as Record<
      "x" | "scale" | "bias" | "first" | "weights",
      HostTensor
    > & {
      state: ReturnType<typeof layer.initState>;
    };
    const got = run(inputs, ({ x, scale, bias, first, weights, state }) => {
      const [, before] = layer.apply({ scale, bias }, first, { ...at(true), modelState: state });
      const loss = (leaves: { readonly x: Tensor; readonly scale: Tensor; readonly bias: Tensor }) => {
        const [y, after] = layer.apply(leaves, leaves.x, { ...at(true), modelState: before });
        return [reduceSum(mul(y, weights)), { y, after }] as const;
      };
      const { gradients, aux } = valueAndGrad(loss, { hasAux: true })({ x, scale, bias });
      const [evaluated, kept] = layer.apply({ scale, bias }, x, { ...at(false), modelState: aux.after });
      const derivatives = { dx: gradients.x, dscale: gradients.scale, dbias: gradients.bias };
      return { y: aux.y, ...aux.after, ...derivatives, evaluated, kept };
    }) as Readonly<Record<string, RawTensor>> & { readonly kept: Readonly<Record<string, RawTensor>> };

    it.each(["y", "mean", "variance", "dx", "dscale", "dbias", "evaluated"] as const)(
      "%s is PyTorch's",
      (name) => {
        numbers(got[name]).forEach((x, place) => {
          expect(x).toBeCloseTo(entry[name].data[place] ?? Number.NaN, 10);
        });
      },
    );

    it("leaves its state alone in evaluation", () => {
      expect(got.kept).toEqual({ mean: got["mean"], variance: got["variance"] });
    });
  },
);

describe("batchNorm", () => {
  const x = tensor(
    Float32Array.from({ length: 24 }, (_, i) => Math.sin(i * 2 + 1)),
    [2, 3, 4],
  );
  const params = batchNorm(4).init(key(1));

  it("normalizes the axis it is told", () => {
    const { params: ours, state } = { params: batchNorm(3).init(key(1)), state: batchNorm(3).initState() };
    const turned = tensor(
      Float32Array.from({ length: 24 }, (_, i) => {
        const [n, c, d] = [Math.floor(i / 12), i % 3, Math.floor(i / 3) % 4];
        return x.data[n * 12 + c * 4 + d] ?? 0;
      }),
      [2, 4, 3],
    );
    const first = run({ ours, state, x }, (t) =>
      batchNorm(3).apply(t.ours, t.x, { ...at(true), modelState: t.state }),
    );
    const last = run({ ours, state, x: turned }, (t) =>
      batchNorm(3, { axis: -1 }).apply(t.ours, t.x, { ...at(true), modelState: t.state }),
    );
    const [[y, statistics], [z, same]] = [first, last] as never as [
      [RawTensor, unknown],
      [RawTensor, unknown],
    ];
    expect(same).toEqual(statistics);
    expect(z.shape).toEqual([2, 4, 3]);
    expect(numbers(z)[1]).toBe(numbers(y)[4]);
  });

  it("says what it takes", () => {
    expect(() => batchNorm(4, { momentum: 1.5 })).toThrow(/momentum must be a number from 0 to 1, got 1.5/);
    expect(() => batchNorm(4, { epsilon: -1 })).toThrow(/epsilon must be at least 0/);
    const state = batchNorm(4).initState();
    const apply = (shape: readonly number[], training = true) =>
      run({ params, state, x: tensor(new Float32Array(shape.reduce((a, b) => a * b)), shape) }, (t) =>
        batchNorm(4).apply(t.params, t.x, { ...at(training), modelState: t.state }),
      );
    expect(() => apply([2, 3, 4])).toThrow(/takes 4 channels in axis 1/);
    expect(() => apply([1, 4])).toThrow(/has no variance to train by/);
    expect(() => apply([1, 4], false)).not.toThrow();
    expect(() => run({ params, x }, (t) => batchNorm(3).apply(t.params, t.x, at(true) as never))).toThrow(
      /needs the context with its own state/,
    );
  });
});

describe("sequential with statistics", () => {
  const norm = batchNorm(8, { momentum: 0.5 });
  const model = sequential(dense(3, 8), norm, relu, sequential(dense(8, 8), norm), dense(8, 2));
  const clean = tensor(
    Float32Array.from({ length: 48 }, (_, i) => Math.sin(i * 5 + 1) + 3),
    [16, 3],
  );
  const y = tensor(Int32Array.from({ length: 16 }, (_, i) => i % 2));
  const training = async () =>
    trainer({
      backend: await reference(),
      params: model.init(key(4)),
      modelState: model.initState(),
      loss: (params, { x, y }, context) => {
        const [logits, modelState] = model.apply(params, x, context);
        return { loss: softmaxCrossEntropy(logits, y), modelState };
      },
      optimizer: sgd({ learningRate: 0.1 }),
      precision: mixedFloat16(),
      onWarning: () => undefined,
    });

  it("threads the state of each part", async () => {
    const run = await training();
    expect(await run.modelState()).toEqual(model.initState());
    const losses: number[] = [];
    for (let step = 0; step < 30; step++) losses.push((await run.step({ x: clean, y })).loss);
    expect(losses.at(-1)).toBeLessThan((losses[0] ?? 0) - 0.1);
    const [none, first, , [, second]] = await run.modelState();
    expect(none).toEqual({});
    for (const { mean, variance } of [first, second]) {
      expect(mean.data.every((value) => value !== 0)).toBe(true);
      expect(variance.data.every((value) => value > 0 && value !== 1)).toBe(true);
    }
    const { loss } = await run.evaluate({ x: clean, y });
    expect(Math.abs(loss - (losses.at(-1) ?? 0))).toBeLessThan(0.2);
  });

  it("casts nothing in vain where a frozen body is trained on in evaluation", async () => {
    const run = await trainer({
      backend: await reference(),
      params: model.init(key(4)),
      modelState: model.initState(),
      loss: (params, { x, y }: { x: Tensor; y: Tensor }, context) => {
        const [logits, modelState] = model.apply(params, x, { ...context, training: false });
        return { loss: softmaxCrossEntropy(logits, y), modelState };
      },
      optimizer: sgd({ learningRate: 0.1 }),
      precision: mixedFloat16(),
    });
    expect(run.explain({ x: clean, y }).lints).toEqual([]);
    await run.dispose();
  });

  it("keeps what a batch that is not finite would overwrite", async () => {
    const run = await training();
    await run.step({ x: clean, y });
    const before = await run.modelState();
    for (const poison of [Number.NaN, Number.POSITIVE_INFINITY, 3e38]) {
      const data = clean.data.slice();
      data[7] = poison;
      const { applied } = await run.step({ x: tensor(data, [16, 3]), y });
      expect([poison, applied]).toEqual([poison, false]);
      expect(await run.modelState()).toEqual(before);
    }
    expect((await run.step({ x: clean, y })).applied).toBe(true);
    expect(await run.modelState()).not.toEqual(before);
    expect(Number.isFinite((await run.evaluate({ x: clean, y })).loss)).toBe(true);
  });

  it("asks for the state where it is missing", () => {
    const params = model.init(key(1));
    expect(() => run({ params, x: clean }, (t) => model.apply(t.params, t.x, at(true) as never))).toThrow(
      /give model.initState\(\) to the trainer as modelState/,
    );
  });
});
