import {
  bfloat16,
  castingPolicy,
  float16,
  float32,
  foldIn,
  type HostTensor,
  key,
  mixedBfloat16,
  mixedFloat16,
  ones,
  type Precision,
  remat,
  sgd,
  type Tensor,
  tensor,
  trainer,
  valueAndGrad,
  zeros,
} from "@mp/core";
import { cast, equal, expand, less, literal, mul, randomUniform, reduceMean, reduceSum } from "@mp/core/ops";
import { reference } from "@mp/core/reference";
import { setRandomCounter } from "@mp/graph/internal";
import { describe, expect, it } from "vitest";
import { numbers, run } from "../test/run-layer.js";
import { dropout, type LayerContext, sequential } from "./index.js";

const SIZE = 20_000;
const training: LayerContext = { training: true, key: key(5) };

/** The dropout mask for a rate, times its scale. */
const maskOf = (rate: number, context: LayerContext = training, drawn = 0): readonly number[] =>
  numbers(
    run({ drawn: tensor(Int32Array.of(drawn), []) }, ({ drawn }) => {
      setRandomCounter(drawn);
      return dropout(rate).apply({}, expand(literal(1), [SIZE]), context);
    }),
  );

describe("dropout", () => {
  it.each([0.1, 0.5, 0.9])("at rate %f zeroes that share and scales the rest to keep the mean", (rate) => {
    const mask = maskOf(rate);
    const kept = mask.filter((x) => x !== 0);
    for (const x of kept) expect(x).toBeCloseTo(1 / (1 - rate), 6);
    // Five standard deviations of a share of 20 000 draws.
    const spread = 5 * Math.sqrt((rate * (1 - rate)) / SIZE);
    expect(Math.abs(1 - kept.length / SIZE - rate)).toBeLessThan(spread);
  });

  it("has no pattern: neighbors fall together as often as chance has it", () => {
    const mask = maskOf(0.5);
    for (const lag of [1, 2, 3, 64, 1000]) {
      const both = mask.filter((x, i) => x !== 0 && (mask[i + lag] ?? 0) !== 0).length / (SIZE - lag);
      expect(Math.abs(both - 0.25), `lag ${lag}`).toBeLessThan(5 * Math.sqrt((0.25 * 0.75) / SIZE));
    }
  });

  it("depends on key, place and step, and on nothing else", () => {
    expect(maskOf(0.5)).toEqual(maskOf(0.5));
    expect(maskOf(0.5, { ...training, key: key(6) })).not.toEqual(maskOf(0.5));
    expect(maskOf(0.5, training, 1)).not.toEqual(maskOf(0.5));
    const model = sequential(dropout(0.5), dropout(0.5));
    const two = run({}, () => {
      const one = expand(literal(1), [SIZE]);
      const [first, second] = [dropout(0.5).apply({}, one, training), dropout(0.5).apply({}, one, training)];
      return { first, second, both: model.apply([{}, {}], one, training) };
    }) as Record<"first" | "second" | "both", never>;
    expect(numbers(two.first)).not.toEqual(numbers(two.second));
    // Two layers in a row drop independently: a quarter is left.
    const left = numbers(two.both).filter((x) => x !== 0).length / SIZE;
    expect(Math.abs(left - 0.25)).toBeLessThan(5 * Math.sqrt((0.25 * 0.75) / SIZE));
  });

  it.each([
    float32(),
    mixedFloat16(),
    mixedBfloat16(),
    float16(),
    bfloat16(),
    ...(["f16", "bf16"] as const).flatMap((compute) =>
      [{ scopes: { dropout: "low" } }, { ops: { Mul: "low" } }].map((low) => ({
        ...mixedFloat16(),
        policy: castingPolicy({ compute, ...low } as Parameters<typeof castingPolicy>[0]),
      })),
    ),
  ] as readonly Precision[])("drops half of the elements under $policy", async (precision) => {
    const training = await trainer({
      backend: await reference(),
      params: { w: ones([SIZE]) },
      optimizer: sgd({ learningRate: 0 }),
      precision,
      onWarning: () => {},
      seed: 1,
      loss: ({ w }, _batch, { key: stream, ...context }) => {
        const share = (x: Tensor): Tensor => reduceMean(cast(x, "f32"));
        const dropped = equal(dropout(0.5).apply({}, w, { ...context, key: key(5) }), 0);
        const below1 = share(less(randomUniform(foldIn(stream, "u"), [SIZE]), 1));
        return { loss: cast(reduceMean(w), "f32"), metrics: { below1, dropped: share(dropped) } };
      },
    });
    const { metrics } = await training.step({});
    // A pure policy rounds the metric to a half dtype.
    expect(metrics["dropped"]).toBeCloseTo(maskOf(0.5).filter((x) => x === 0).length / SIZE, 2);
    expect(metrics["below1"]).toBe(1);
  });

  it("does nothing at rate 0 or in evaluation", () => {
    const x = tensor(Float32Array.of(1, -2, 3));
    for (const [rate, context] of [
      [0, training],
      [0.5, { ...training, training: false }],
    ] as const) {
      expect(numbers(run({ x }, ({ x }) => dropout(rate).apply({}, x, context)))).toEqual([1, -2, 3]);
    }
    expect(dropout(0.5).init(key(1))).toEqual({});
  });

  it("has the gradient of its mask, also where the forward pass is computed again", () => {
    const x = tensor(Float32Array.from({ length: 50 }, (_, i) => i + 1));
    const sum = (input: Tensor): Tensor => reduceSum(dropout(0.4).apply({}, input, training));
    const plain = run({ x }, ({ x }) => valueAndGrad(sum)(x)) as Record<"value" | "gradients", never>;
    const again = run({ x }, ({ x }) => valueAndGrad(remat(sum))(x)) as typeof plain;
    const gradient = numbers(plain.gradients);
    expect(new Set(gradient.map((g) => g.toFixed(6)))).toEqual(new Set(["0.000000", (1 / 0.6).toFixed(6)]));
    expect(numbers(again.gradients)).toEqual(gradient);
    expect(numbers(again.value)).toEqual(numbers(plain.value));
  });

  it("draws anew at each step of a trainer, the same for the same seed, and not in evaluation", async () => {
    const start = async (seed: number) =>
      trainer({
        backend: await reference(),
        params: { w: tensor(Float32Array.of(1)) },
        loss: ({ w }, { x }, context) => reduceMean(mul(dropout(0.5).apply({}, x, context), w)),
        optimizer: sgd({ learningRate: 0 }),
        precision: float32(),
        seed,
      });
    const x: HostTensor = tensor(Float32Array.from({ length: 64 }, (_, i) => i));
    const losses = async (seed: number): Promise<number[]> => {
      const run = await start(seed);
      return [(await run.step({ x })).loss, (await run.step({ x })).loss, (await run.evaluate({ x })).loss];
    };
    const [first, second, evaluated] = await losses(1);
    expect(first).not.toBe(second);
    expect(evaluated).toBe(31.5);
    expect(await losses(1)).toEqual([first, second, evaluated]);
    expect((await losses(2))[0]).not.toBe(first);
  });

  it.each([-0.1, 1, 1.5, Number.NaN, null])("refuses a rate of %s", (rate) => {
    expect(() => dropout(rate as number)).toThrow(
      `dropout: a rate must be at least 0 and below 1, got ${rate}`,
    );
  });

  it("refuses a rate that is text", () => {
    expect(() => dropout("0.5" as never)).toThrow(
      'dropout: a rate must be at least 0 and below 1, got "0.5"',
    );
  });

  it("without the loss's context says what is missing, in training or not", () => {
    expect(() => run({ x: zeros([1]) }, ({ x }) => dropout(0.5).apply({}, x))).toThrow(
      "dropout: needs the context: model.apply(params, x, context)",
    );
  });
});
