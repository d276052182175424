/** Weights that losses offer, and the warning of means that a step averages without them. */
import { autocast, float16, float32, type HostTensor, sgd, type Tensor, tensor, trainer } from "@mp/core";
import { add, cast, constant, matMul, mul, reshape } from "@mp/core/ops";
import { reference } from "@mp/core/reference";
import { describe, expect, it } from "vitest";
import { numbers, run } from "../test/run-layer.js";
import {
  binaryCrossEntropyWithLogits,
  ctcLoss,
  huber,
  lossWeight,
  meanSquaredError,
  sigmoidFocalLoss,
  smoothL1,
  softmaxCrossEntropy,
} from "./index.js";

const floats = (shape: readonly number[], values: readonly number[]): HostTensor<"f32"> =>
  tensor(Float32Array.from(values), shape);
const data = {
  x: floats([4, 3], [1, 0, 2, 0, 1, 0, -1, 2, 0, 0.5, 0.5, 1]),
  y: floats([4, 3], [1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1]),
  labels: tensor(Int32Array.of(2, 1, -100, 0)),
  valid: tensor(Int32Array.of(2, 1, 0, 0)),
  classes: floats([3], [0.5, 2, 4]),
  rows: floats([4], [1, 0, 2, 0.25]),
};
type Given = { readonly [K in keyof typeof data]: Tensor };
const ignoreIndex = -100;

const ctc = ({ x }: Given, sampleWeights?: Tensor): Tensor => {
  const i32 = (...values: readonly number[]) => constant(tensor(Int32Array.from(values), [4]));
  const targets = { labels: reshape(i32(1, 2, 1, 2), [4, 1]), labelLengths: i32(1, 1, 1, 1) };
  return ctcLoss(reshape(x, [1, 4, 3]), targets, sampleWeights === undefined ? {} : { sampleWeights });
};

const offered: Readonly<Record<string, readonly [weight: number, loss: (given: Given) => Tensor]>> = {
  "all labels": [4, ({ x, valid }) => softmaxCrossEntropy(x, valid)],
  "labels that are not ignored": [3, ({ x, labels }) => softmaxCrossEntropy(x, labels, { ignoreIndex })],
  "smoothed labels": [
    3,
    ({ x, labels }) => softmaxCrossEntropy(x, labels, { ignoreIndex, labelSmoothing: 0.1 }),
  ],
  "labels by class": [
    6.5,
    ({ x, labels, classes }) => softmaxCrossEntropy(x, labels, { ignoreIndex, weights: classes }),
  ],
  "labels by row": [
    1.25,
    ({ x, labels, rows }) => softmaxCrossEntropy(x, labels, { ignoreIndex, sampleWeights: rows }),
  ],
  "labels by row and class": [
    4.125,
    ({ x, labels, rows, classes }) =>
      softmaxCrossEntropy(x, labels, { ignoreIndex, sampleWeights: rows, weights: classes }),
  ],
  elements: [12, ({ x, y }) => meanSquaredError(x, y)],
  "elements by row": [9.75, ({ x, y, rows }) => meanSquaredError(x, y, { sampleWeights: rows })],
  "events by row": [9.75, ({ x, y, rows }) => binaryCrossEntropyWithLogits(x, y, { sampleWeights: rows })],
  "huber's elements": [12, ({ x, y }) => huber(x, y)],
  "smooth L1 by row": [9.75, ({ x, y, rows }) => smoothL1(x, y, { sampleWeights: rows, beta: 0.5 })],
  "focal elements": [12, ({ x, y }) => sigmoidFocalLoss(x, y)],
  sequences: [4, (given) => ctc(given)],
  "sequences by weight": [3.25, (given) => ctc(given, given.rows)],
};

describe("lossWeight", () => {
  it.each(Object.entries(offered))("counts %s", (_what, [weight, loss]) => {
    expect(numbers(run(data, (given: Given) => lossWeight(loss(given))))).toEqual([weight]);
  });

  it("counts 70 000 labels where everything computes in float16", async () => {
    const many = 70_000;
    const training = await trainer({
      backend: await reference(),
      params: { w: floats([1, 2], [0.5, -0.5]) },
      loss: ({ w }, { x, y }) => {
        const loss = softmaxCrossEntropy(matMul(x, w), y, { ignoreIndex });
        return { loss, weight: lossWeight(loss) };
      },
      optimizer: sgd({ learningRate: 0 }),
      precision: float16(),
      onWarning: () => undefined,
    });
    const batch = { x: floats([many, 1], new Array<number>(many).fill(1)), y: tensor(new Int32Array(many)) };
    expect((await training.evaluate(batch)).weight).toBe(many);
  });

  it.each([
    ["a sum", ({ x, y }: Given) => meanSquaredError(x, y, { reduction: "sum" })],
    ["losses", ({ x, labels }: Given) => softmaxCrossEntropy(x, labels, { ignoreIndex, reduction: "none" })],
    ["what is computed from a mean", ({ x, y }: Given) => mul(huber(x, y), 2)],
  ])("refuses %s", (_what, loss) => {
    expect(() => run(data, (given: Given) => lossWeight(loss(given)))).toThrow(
      "lossWeight: must get the mean that a loss of @mp/nn returned, as it is and in the same function, got Tensor f32[",
    );
  });
});

type Labeled = { readonly x: Tensor; readonly y: Tensor };
type Loss = (parameters: { readonly w: Tensor }, batch: Labeled) => Tensor | { loss: Tensor; weight: Tensor };

const rows = [1, 0, 0, 1, 1, 1, 2, 1, 1, -1, 0.5, 2, -1, 0, 0, -1];
const batch = (from: number, labels: readonly number[]) => ({
  x: floats([labels.length, 2], rows.slice(2 * from, 2 * (from + labels.length))),
  y: tensor(Int32Array.from(labels)),
});
const masked = ({ w }: { readonly w: Tensor }, { x, y }: Labeled): Tensor =>
  softmaxCrossEntropy(matMul(x, w), y, { ignoreIndex });

async function start(loss: Loss, accumulate: number, size = 1) {
  const warnings: string[] = [];
  // Both ranks do the same.
  const ranks = {
    rank: 0,
    size,
    allReduce: async (values: Float32Array) => void values.set(values.map((value) => size * value)),
    allGather: async (bytes: Uint8Array) => Array.from({ length: size }, () => bytes),
    broadcast: async (bytes: Uint8Array | undefined) => bytes ?? new Uint8Array(),
    barrier: async () => undefined,
    abort: (error: unknown) => {
      throw error;
    },
  };
  const training = await trainer({
    backend: await reference(),
    params: { w: floats([2, 3], [0.1, -0.2, 0.3, 0.2, 0.1, -0.4]) },
    loss,
    optimizer: sgd({ learningRate: 1 }),
    precision: float32(),
    accumulate,
    onWarning: ({ message }) => void warnings.push(message),
    ...(size === 1 ? {} : { ranks }),
  });
  return { training, warnings };
}

describe("windows of masked labels", () => {
  const counted: Loss = (parameters, given) => {
    const loss = masked(parameters, given);
    return { loss, weight: lossWeight(loss) };
  };

  it.each([
    ["four labels, then one", [0, 2, 1, 0], [1, -100, -100, -100]],
    ["no label, then three", [-100, -100, -100, -100], [1, 2, -100, 0]],
  ])("of %s are the whole batch, also in evaluateAll", async (_what, first, second) => {
    const [whole, window] = [await start(counted, 1), await start(counted, 2)];
    const parts = [batch(0, first), batch(4, second)] as const;
    const all = batch(0, [...first, ...second]);
    const evaluated = await whole.training.evaluateAll(parts);
    expect(evaluated.loss).toBeCloseTo((await whole.training.evaluate(all)).loss, 6);
    const [one, other] = [await whole.training.step(all), await window.training.step(...parts)];
    expect(other.loss).toBeCloseTo(one.loss, 6);
    expect(other.weight).toBe(one.weight);
    const [a, b] = [await whole.training.parameters(), await window.training.parameters()];
    for (const [at, value] of a.w.data.entries()) expect(b.w.data[at]).toBeCloseTo(value, 6);
    expect([...whole.warnings, ...window.warnings]).toEqual([]);
  });

  it.each<readonly [string, Loss, number, number, boolean]>([
    ["a window", masked, 2, 1, true],
    ["ranks", masked, 1, 2, true],
    ["a single batch", masked, 1, 1, false],
    ["a weight", counted, 2, 2, false],
    ["a mean of all labels", ({ w }, { x, y }) => softmaxCrossEntropy(matMul(x, w), y), 2, 1, false],
    ["a part of the loss", (weights, given) => add(mul(masked(weights, given), 0.5), 1), 2, 1, true],
    [
      "a policy of its own",
      (weights, given) =>
        autocast((x: Tensor) => masked(weights, { ...given, x }), float32().policy)(given.x),
      2,
      1,
      true,
    ],
    [
      "weights of samples",
      ({ w }, { x, y }) =>
        meanSquaredError(matMul(x, w), mul(matMul(x, w), 2), { sampleWeights: cast(y, "f32") }),
      2,
      1,
      true,
    ],
    [
      "a metric",
      (weights, given) => {
        // Its constants are also those of the loss.
        meanSquaredError(matMul(given.x, weights.w), mul(matMul(given.x, weights.w), 2), {
          sampleWeights: cast(given.y, "f32"),
        });
        return add(huber(matMul(given.x, weights.w), mul(matMul(given.x, weights.w), 2)), 1);
      },
      2,
      1,
      false,
    ],
  ])("warn once of means that are averaged: %s", async (_what, loss, accumulate, size, isWarned) => {
    const { training, warnings } = await start(loss, accumulate, size);
    const window = Array.from({ length: accumulate }, (_, at) => batch(at, [0, 1]));
    for (let step = 0; step < 2; step++) await training.step(...window);
    const said = warnings.filter((message) => message.includes("return { loss, weight: lossWeight(loss) }"));
    expect(said).toHaveLength(Number(isWarned));
    if (isWarned) expect(said[0]).toContain("a step averages 2 of them");
  });
});
