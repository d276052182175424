import {
  autocast,
  type CastingPolicy,
  float32,
  mixedBfloat16,
  mixedFloat16,
  type Tensor,
  tensor,
  valueAndGrad,
  zeros,
} from "@mp/core";
import { constant, mul, reduceSum } from "@mp/core/ops";
import { describe, expect, it } from "vitest";
import { numbers, run } from "../test/run-layer.js";
import {
  binaryCrossEntropyWithLogits,
  huber,
  sigmoidFocalLoss,
  smoothL1,
  softmaxCrossEntropy,
} from "./index.js";

type Loss = (x: Tensor, y: Tensor) => Tensor;
const policies: readonly CastingPolicy[] = [float32().policy, mixedFloat16().policy, mixedBfloat16().policy];

/** Value and gradient of a loss of n elements, computed as an engine does; the gradient is that of the sum. */
function measured(loss: Loss, x: readonly number[], y: readonly number[], policy: CastingPolicy) {
  const data = { x: tensor(Float32Array.from(x)), y: tensor(Float32Array.from(y)) };
  const body = (t: { readonly x: Tensor; readonly y: Tensor }): unknown =>
    valueAndGrad((argument: Tensor) => autocast(loss, policy)(argument, t.y))(t.x);
  const { value, gradients } = run(data, body, { arithmetic: "exact" }) as {
    readonly value: never;
    readonly gradients: never;
  };
  return { value: numbers(value)[0] as number, gradients: numbers(gradients).map((g) => g * x.length) };
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

/** Compares to within a few ulp of f32. */
function close(got: number, want: number): void {
  expect(Math.abs(got - want), `${got} against ${want}`).toBeLessThanOrEqual(1e-6 * Math.abs(want) + 1e-30);
}

/** Compares to the precision of an exponential of a rounded logarithm. */
function near(got: number, want: number): void {
  expect(Math.abs(got - want), `${got} against ${want}`).toBeLessThanOrEqual(3e-5 * Math.abs(want) + 1e-30);
}

describe("binaryCrossEntropyWithLogits", () => {
  const x = [0, 0, 0, 1.5, -1.5, 20, 20, -20, -20, 80, -80, 300, -300];
  const y = [0, 0.5, 1, 1, 0.25, 1, 0, 1, 0, 1, 0, 1, 0];

  it.each(policies)("is that of doubles, near and far from 0, under %s", (policy) => {
    for (const [index, logit] of x.entries()) {
      const target = y[index] as number;
      const { value, gradients } = measured(binaryCrossEntropyWithLogits, [logit], [target], policy);
      const soft = (z: number): number => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));
      // exp(-80) is 1.8e-35, and exp(-300) is 0 in f32.
      close(value, target * soft(-logit) + (1 - target) * soft(logit));
      const below = Math.exp(-Math.abs(logit));
      const [towards, away] = logit > 0 ? [1, below] : [below, 1];
      close(gradients[0] as number, ((1 - target) * towards - target * away) / (1 + below));
    }
  });

  it("is a mean, and takes truths and integers for targets", () => {
    const logits = [2, -3, 0.5];
    const labels = [1, 0, 1];
    const each = logits.map((logit, i) => Math.log1p(Math.exp(labels[i] === 1 ? -logit : logit)));
    const fed = tensor(Float32Array.from(logits));
    const targets = [
      tensor(Float32Array.from(labels)),
      tensor(Int32Array.from(labels)),
      tensor(Uint8Array.from(labels), [3], "bool"),
    ];
    for (const target of targets) {
      const result = run({ fed, target }, (t) => binaryCrossEntropyWithLogits(t.fed, t.target));
      close(numbers(result as never)[0] as number, mean(each));
    }
  });
});

describe("sigmoidFocalLoss", () => {
  it.each(policies)(
    "fades out what is right already, exactly, for logits of any size, under %s",
    (policy) => {
      const focal: Loss = (x, y) => sigmoidFocalLoss(x, y);
      for (const logit of [-90, -12, -1, 0, 0.5, 9, 40, 90]) {
        const soft = (z: number): number => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));
        const { value, gradients } = measured(focal, [logit], [1], policy);
        const [p, q] = [Math.exp(-soft(-logit)), Math.exp(-soft(logit))];
        near(value, 0.25 * q * q * soft(-logit));
        // d/dx of a (1 - p)² (-log p) is a (1 - p)² (2 p log p - (1 - p)).
        near(gradients[0] as number, 0.25 * q * q * (-2 * p * soft(-logit) - q));
      }
    },
  );

  it("is cross entropy, weighted, where gamma is 0", () => {
    const data = { x: tensor(Float32Array.of(2, -3)), y: tensor(Int32Array.of(1, 0)) };
    const got = run(data, ({ x, y }) => sigmoidFocalLoss(x, y, { gamma: 0, alpha: 0.5, reduction: "none" }));
    const entropy = run(data, ({ x, y }) => binaryCrossEntropyWithLogits(x, y));
    close(mean(numbers(got)) * 2, numbers(entropy as never)[0] as number);
  });
});

describe("huber and smoothL1", () => {
  const x = [0, 0.25, -0.25, 0.5, -0.5, 3, -3, 1e4, 3e38];
  const zero = x.map(() => 0);

  it.each(policies)("are squares near 0 and lines beyond, under %s", (policy) => {
    for (const limit of [0.5, 1, 4]) {
      const wanted = (d: number): number =>
        Math.abs(d) <= limit ? (d * d) / 2 : limit * (Math.abs(d) - limit / 2);
      const slopes = x.map((d) => Math.fround(Math.max(-limit, Math.min(limit, d))));
      const small = x.slice(0, -1);
      const h = measured((a, b) => huber(a, b, { delta: limit }), small, zero.slice(0, -1), policy);
      close(h.value, mean(small.map(wanted)));
      for (const [index, slope] of slopes.slice(0, -1).entries()) close(h.gradients[index] as number, slope);
      const s = measured((a, b) => smoothL1(a, b, { beta: limit }), small, zero.slice(0, -1), policy);
      close(s.value, mean(small.map((d) => wanted(d) / limit)));
      for (const [index, slope] of slopes.slice(0, -1).entries())
        close(s.gradients[index] as number, slope / limit);
    }
    // Its square is infinite in f32, the loss is not.
    close(measured((a, b) => huber(a, b), [3e38], [0], policy).value, 3e38);
  });

  it("are the same at 1, which is the default", () => {
    const fed = [0.3, -2, 7];
    const target = [0, 0.5, 6.75];
    const [h, s] = [huber, smoothL1].map((loss) =>
      measured((a, b) => loss(a, b), fed, target, float32().policy),
    );
    expect(h).toEqual(s);
  });

  it("give the sum, or each element", () => {
    const [fed, target] = [
      [0.5, -2, 7],
      [0, 0.5, 6.75],
    ];
    const [h, s] = [huber, smoothL1].map((loss) => ({
      sum: measured((a, b) => loss(a, b, { reduction: "sum" }), fed, target, float32().policy),
      each: measured(
        (a, b) =>
          reduceSum(mul(loss(a, b, { reduction: "none" }), constant(tensor(Float32Array.of(1, 2, 3))))),
        fed,
        target,
        float32().policy,
      ),
    }));
    close(h?.sum.value as number, 1 / 8 + 2 + 1 / 32);
    close(h?.each.value as number, 1 / 8 + 4 + 3 / 32);
    expect(s).toEqual(h);
  });
});

describe("losses refuse", () => {
  const fed = { x: zeros([4, 1]), y: zeros([4]), i: zeros([4, 1], "i32") };
  it.each<[string, (t: { x: Tensor; y: Tensor; i: Tensor }) => Tensor, string]>([
    [
      "binaryCrossEntropyWithLogits: logits [4, 1] and targets [4] differ in shape; reshape one of them",
      ({ x, y }) => binaryCrossEntropyWithLogits(x, y),
      "MP_SHAPE_MISMATCH",
    ],
    [
      "logits must be floats before a sigmoid, got i32",
      ({ x, i }) => binaryCrossEntropyWithLogits(i, x),
      "MP_DTYPE_MISMATCH",
    ],
    ["huber: prediction [4, 1] and target [4] differ", ({ x, y }) => huber(x, y), "MP_SHAPE_MISMATCH"],
    [
      "smoothL1: target: takes traced tensors, got undefined",
      ({ x }) => smoothL1(x, undefined as never),
      "MP_INVALID_ARGUMENT",
    ],
    [
      "huber: delta must be above 0 in f32, got 0",
      ({ x }) => huber(x, x, { delta: 0 }),
      "MP_INVALID_ARGUMENT",
    ],
    [
      "smoothL1: beta must be above 0 in f32, got NaN",
      ({ x }) => smoothL1(x, x, { beta: Number.NaN }),
      "MP_INVALID_ARGUMENT",
    ],
    [
      'smoothL1: reduction must be mean, sum or none, got "total"',
      ({ x }) => smoothL1(x, x, { reduction: "total" as never }),
      "MP_INVALID_ARGUMENT",
    ],
    ['huber: has no option "beta"', ({ x }) => huber(x, x, { beta: 2 } as never), "MP_INVALID_ARGUMENT"],
    [
      'softmaxCrossEntropy: has no option "smoothing"; did you mean labelSmoothing?',
      ({ x, y }) => softmaxCrossEntropy(x, y, { smoothing: 1 } as never),
      "MP_INVALID_ARGUMENT",
    ],
    [
      "softmaxCrossEntropy: labelSmoothing must be a number from 0 to 1, got 2",
      ({ x, i }) => softmaxCrossEntropy(x, i, { labelSmoothing: 2 }),
      "MP_INVALID_ARGUMENT",
    ],
    [
      "sigmoidFocalLoss: logits [4, 1] and targets [4]",
      ({ x, y }) => sigmoidFocalLoss(x, y),
      "MP_SHAPE_MISMATCH",
    ],
    [
      "sigmoidFocalLoss: gamma must be a finite number ≥ 0, got -1",
      ({ x }) => sigmoidFocalLoss(x, x, { gamma: -1 }),
      "MP_INVALID_ARGUMENT",
    ],
    [
      'sigmoidFocalLoss: alpha must be a number from 0 to 1, got "0.5"',
      ({ x }) => sigmoidFocalLoss(x, x, { alpha: "0.5" } as never),
      "MP_INVALID_ARGUMENT",
    ],
    ["sigmoidFocalLoss: logits must be floats", ({ x, i }) => sigmoidFocalLoss(i, x), "MP_DTYPE_MISMATCH"],
  ])("%s", (message, loss, code) => {
    const make = (): unknown => run(fed, loss);
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code }));
  });
});

it("softmaxCrossEntropy takes labels that are i64", () => {
  const x = tensor(Float32Array.of(1, 2, 3, 4, 5, 7), [2, 3]);
  const loss = (y: ReturnType<typeof tensor>): readonly number[] =>
    numbers(run({ x, y }, (t) => softmaxCrossEntropy(t.x, t.y)) as never);
  expect(loss(tensor(BigInt64Array.of(2n, 0n)))).toEqual(loss(tensor(Int32Array.of(2, 0))));
});
