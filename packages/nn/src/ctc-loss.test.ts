import { autocast, type HostTensor, mixedFloat16, type Tensor, tensor, valueAndGrad } from "@mp/core";
import { describe, expect, it } from "vitest";
import { run } from "../test/run-layer.js";
import { type CtcLossOptions, ctcLoss } from "./index.js";

const TIME = 5;
const CLASSES = 3;
const logits = Array.from({ length: TIME * 2 * CLASSES }, (_, i) => 2 * Math.sin(1 + 2.3 * i));
const i32 = (data: readonly number[], shape: readonly number[]) => tensor(Int32Array.from(data), shape);

/** Labels of a path of classes: repeats are merged, then blanks removed. */
const collapsed = (path: readonly number[], blank: number): string =>
  path.filter((label, at) => label !== path[at - 1] && label !== blank).join();

/** -log of the sum of the probabilities of all paths, computed one by one. */
function exhaustive(
  scores: readonly number[],
  row: number,
  time: number,
  labels: readonly number[],
  blank: number,
): number {
  const probabilities = Array.from({ length: time }, (_, at) => {
    const own = scores.slice((at * 2 + row) * CLASSES, (at * 2 + row + 1) * CLASSES).map(Math.exp);
    const total = own.reduce((a, b) => a + b);
    return own.map((x) => x / total);
  });
  let sum = 0;
  for (let code = 0; code < CLASSES ** time; code++) {
    const path = probabilities.map((_, at) => Math.floor(code / CLASSES ** at) % CLASSES);
    if (collapsed(path, blank) !== labels.join()) continue;
    sum += path.reduce((product, label, at) => product * (probabilities[at]?.[label] ?? 0), 1);
  }
  return -Math.log(sum);
}

interface Case {
  readonly labels: readonly (readonly number[])[];
  readonly times?: readonly [number, number];
  readonly blank?: number;
}

function inputs({ labels, times }: Case): Readonly<Record<string, HostTensor>> {
  const most = Math.max(...labels.map(({ length }) => length));
  return {
    logits: tensor(Float32Array.from(logits), [TIME, 2, CLASSES]),
    labels: i32(
      labels.flatMap((own) => [...own, ...new Array<number>(most - own.length).fill(1)]),
      [2, most],
    ),
    labelLengths: i32(
      labels.map(({ length }) => length),
      [2],
    ),
    ...(times === undefined ? {} : { inputLengths: i32(times, [2]) }),
  };
}

type Results = { readonly [name: string]: HostTensor } & { readonly y: HostTensor };
const results = (
  given: Readonly<Record<string, HostTensor>>,
  body: (t: Readonly<Record<string, Tensor>>) => object,
): Results => run(given, body as never) as unknown as Results;

const lossOf = (t: Readonly<Record<string, Tensor>>, options: CtcLossOptions): Tensor =>
  ctcLoss(t["logits"] as Tensor, t as never, options);

describe("ctcLoss is the sum over all alignments", () => {
  it.each<readonly [string, Case]>([
    [
      "of two labels",
      {
        labels: [
          [1, 2],
          [2, 1],
        ],
      },
    ],
    [
      "of a label twice, which a blank separates",
      {
        labels: [
          [1, 1],
          [2, 2],
        ],
      },
    ],
    ["of different lengths, also none", { labels: [[1, 2, 1], []] }],
    ["over different times", { labels: [[1, 2], [2]], times: [5, 2] }],
    [
      "with another blank",
      {
        labels: [
          [0, 1],
          [1, 0],
        ],
        blank: 2,
      },
    ],
  ])("%s", (_, given) => {
    const { blank = 0, times = [TIME, TIME], labels } = given;
    const each = results(inputs(given), (t) => ({ y: lossOf(t, { blank, reduction: "none" }) })).y;
    const wanted = labels.map((own, row) => exhaustive(logits, row, times[row] ?? 0, own, blank));
    [...each.data].forEach((loss, row) => {
      expect(Number(loss)).toBeCloseTo(wanted[row] ?? Number.NaN, 5);
    });
    const mean = results(inputs(given), (t) => ({ y: lossOf(t, { blank }) })).y;
    const shares = wanted.map((loss, row) => loss / Math.max(1, labels[row]?.length ?? 0));
    expect(Number(mean.data[0])).toBeCloseTo(((shares[0] ?? 0) + (shares[1] ?? 0)) / 2, 5);
  });
});

it("has the gradients of finite differences, under a policy of f16", () => {
  const given: Case = { labels: [[1, 2], [2]], times: [5, 3] };
  const gradients = results(inputs(given), (t) => ({
    y: valueAndGrad(
      autocast((x: Tensor) => lossOf({ ...t, logits: x }, { reduction: "sum" }), mixedFloat16().policy),
    )(t["logits"] as Tensor).gradients,
  })).y;
  const total = (scores: readonly number[]): number =>
    given.labels.reduce((sum, own, row) => sum + exhaustive(scores, row, given.times?.[row] ?? 0, own, 0), 0);
  logits.forEach((score, at) => {
    const [up, down] = [1e-4, -1e-4].map((by) => total(logits.with(at, score + by)));
    expect(Number(gradients.data[at])).toBeCloseTo(((up ?? 0) - (down ?? 0)) / 2e-4, 4);
  });
});

it("is infinite where there is too little time for the labels, or 0 where that is wanted, without a gradient", () => {
  const given: Case = {
    labels: [
      [1, 1, 1],
      [2, 1],
    ],
  };
  const short: Case = { ...given, times: [3, 5] };
  const [infinite, zero] = [false, true].map((zeroInfinity) =>
    results(inputs(short), (t) => {
      const { value, gradients } = valueAndGrad((x: Tensor) =>
        lossOf({ ...t, logits: x }, { reduction: "sum", zeroInfinity }),
      )(t["logits"] as Tensor);
      return { value, gradients };
    }),
  );
  expect(infinite?.["value"]?.data[0]).toBe(Number.POSITIVE_INFINITY);
  const { value, gradients } = zero as Results;
  expect(Number(value?.data[0])).toBeCloseTo(exhaustive(logits, 1, 5, [2, 1], 0), 5);
  const ofFirst = [...(gradients?.data ?? [])].filter((_, at) => Math.floor(at / CLASSES) % 2 === 0);
  expect(ofFirst.every((x) => Number(x) === 0)).toBe(true);
});

it("refuses what does not fit", () => {
  const given = inputs({ labels: [[1], [2]] });
  const labels = i32([1], [1, 1]);
  expect(() => results({ ...given, labels }, (t) => ({ y: lossOf(t, {}) }))).toThrow(
    "ctcLoss: labels must be [2, most labels], got [1, 1]",
  );
  expect(() => results(given, (t) => ({ y: lossOf(t, { blank: 3 }) }))).toThrow(
    "ctcLoss: blank is 3, the classes are 0 … 2",
  );
});
