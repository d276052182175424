/** Compares losses whose samples have weights with Keras and PyTorch. */
import { readFileSync } from "node:fs";
import {
  autocast,
  type CastingPolicy,
  float16,
  float32,
  mixedFloat16,
  type Tensor,
  tensor,
  valueAndGrad,
} from "@mp/core";
import { cast } from "@mp/core/ops";
import { describe, expect, it } from "vitest";
import { numbers, run, shapeOf } from "../test/run-layer.js";
import {
  binaryCrossEntropyWithLogits,
  ctcLoss,
  huber,
  meanAbsoluteError,
  meanSquaredError,
  sigmoidFocalLoss,
  smoothL1,
  softmaxCrossEntropy,
} from "./index.js";

interface Reference {
  readonly value: number;
  readonly gradient: readonly number[];
}

/** Made by test/fixtures/weighted-losses.py. */
const fixture = JSON.parse(
  readFileSync(new URL("../test/fixtures/weighted-losses.json", import.meta.url), "utf8"),
) as {
  readonly data: Readonly<Record<"x" | "y" | "events" | "labels" | "rows" | "classes", readonly number[]>>;
  readonly keras: Readonly<Record<string, Reference>>;
  readonly torch: Readonly<Record<string, Reference>>;
};

const floats = (name: keyof typeof fixture.data, shape: readonly number[]) =>
  tensor(Float32Array.from(fixture.data[name]), shape);
const data = {
  x: floats("x", [6, 3]),
  y: floats("y", [6, 3]),
  events: floats("events", [6, 3]),
  labels: tensor(Int32Array.from(fixture.data.labels)),
  rows: floats("rows", [6]),
  classes: floats("classes", [3]),
};
type Given = Readonly<Record<keyof typeof data, Tensor>>;

function measured(loss: (given: Given) => Tensor, policy: CastingPolicy = float32().policy) {
  const { value, gradients } = run(data, (t: Given) =>
    valueAndGrad((x: Tensor) => autocast(loss, policy)({ ...t, x }))(t.x),
  ) as { readonly value: never; readonly gradients: never };
  return { value: numbers(value), gradient: numbers(gradients) };
}

const losses: Readonly<Record<string, (given: Given) => Tensor>> = {
  crossEntropy: ({ x, labels, rows }) => softmaxCrossEntropy(x, labels, { sampleWeights: rows }),
  binary: ({ x, events, rows }) => binaryCrossEntropyWithLogits(x, events, { sampleWeights: rows }),
  squared: ({ x, y, rows }) => meanSquaredError(x, y, { sampleWeights: rows }),
  absolute: ({ x, y, rows }) => meanAbsoluteError(x, y, { sampleWeights: rows }),
  huber: ({ x, y, rows }) => huber(x, y, { delta: 0.5, sampleWeights: rows }),
  focal: ({ x, events, rows }) => sigmoidFocalLoss(x, events, { sampleWeights: rows }),
  smoothL1: ({ x, y, rows }) => smoothL1(x, y, { beta: 0.5, sampleWeights: rows }),
  sum: ({ x, events, rows }) =>
    binaryCrossEntropyWithLogits(x, events, { sampleWeights: rows, reduction: "sum" }),
  smoothed: ({ x, labels, rows }) =>
    softmaxCrossEntropy(x, labels, { labelSmoothing: 0.1, sampleWeights: rows }),
  classWeights: ({ x, labels, rows, classes }) =>
    softmaxCrossEntropy(x, labels, { weights: classes, sampleWeights: rows }),
  ignoring: ({ x, labels, rows }) => softmaxCrossEntropy(x, labels, { ignoreIndex: 1, sampleWeights: rows }),
};

describe("losses with weights of samples", () => {
  it.each([...Object.entries(fixture.keras), ...Object.entries(fixture.torch)])(
    "%s: values and gradients are those of Keras or PyTorch",
    (name, reference) => {
      const { value, gradient } = measured(losses[name] as (given: Given) => Tensor);
      expect(value[0]).toBeCloseTo(reference.value, 6);
      for (const [at, want] of reference.gradient.entries()) expect(gradient[at]).toBeCloseTo(want, 6);
    },
  );

  it("weights each with reduction none, and takes halves", () => {
    for (const [name, loss] of Object.entries({
      squared: ({ x, y, rows }: Given) => meanSquaredError(x, y, { sampleWeights: rows, reduction: "none" }),
      binary: ({ x, events, rows }: Given) =>
        binaryCrossEntropyWithLogits(x, events, { sampleWeights: rows, reduction: "none" }),
    })) {
      const each = run(data, loss);
      expect(shapeOf(each)).toEqual([6, 3]);
      const total = numbers(each).reduce((sum, value) => sum + value, 0) / (3 * 5.25);
      expect(total, name).toBeCloseTo(fixture.keras[name]?.value ?? 0, 6);
    }
    const each = run(data, ({ x, labels, rows }) =>
      softmaxCrossEntropy(x, labels, { sampleWeights: rows, reduction: "none" }),
    );
    expect(numbers(each).reduce((sum, value) => sum + value, 0) / 5.25).toBeCloseTo(
      fixture.keras["crossEntropy"]?.value ?? 0,
      6,
    );
    for (const policy of [mixedFloat16().policy, float16().policy]) {
      const { value } = measured(({ x, y, rows }) => meanSquaredError(x, y, { sampleWeights: rows }), policy);
      expect(Math.abs((value[0] ?? 0) - (fixture.keras["squared"]?.value ?? 0))).toBeLessThan(0.01);
    }
    const halves = run(data, ({ x, y, rows }) =>
      meanSquaredError(cast(x, "f16"), cast(y, "f16"), { sampleWeights: rows }),
    );
    expect(numbers(halves)[0]).toBeCloseTo(fixture.keras["squared"]?.value ?? 0, 2);
  });

  it("are 0 with a gradient of 0 for padding alone", () => {
    for (const name of ["crossEntropy", "squared", "classWeights", "ignoring"]) {
      const loss = losses[name] as (given: Given) => Tensor;
      const { value, gradient } = measured((given) =>
        loss({ ...given, rows: cast(cast(given.rows, "bool"), "f32") }),
      );
      expect(value[0]).toBeGreaterThan(0);
      expect(gradient.some((each) => each !== 0)).toBe(true);
      const nothing = run({ ...data, rows: tensor(new Float32Array(6)) }, (t: Given) =>
        valueAndGrad((x: Tensor) => loss({ ...t, x }))(t.x),
      ) as { readonly value: never; readonly gradients: never };
      expect(numbers(nothing.value)[0]).toBe(0);
      expect(numbers(nothing.gradients).every((each) => each === 0)).toBe(true);
    }
  });

  it("weight the sequences of a CTC loss", () => {
    const targets = {
      labels: tensor(Int32Array.of(1, 2, 2, 1), [2, 2]),
      labelLengths: tensor(Int32Array.of(2, 1)),
    };
    const of = (weights: readonly number[], scores = floats("x", [3, 2, 3])): number =>
      numbers(
        run({ scores, ...targets, w: tensor(Float32Array.from(weights)) }, ({ w, scores: s, ...given }) =>
          ctcLoss(s, given, { sampleWeights: w }),
        ),
      )[0] as number;
    expect(of([3, 1])).toBeCloseTo((3 * of([1, 0]) + of([0, 1])) / 4, 6);
  });

  it("refuse weights of another shape", () => {
    const loss = (weights: (given: Given) => Tensor) => () =>
      run(data, (t) => meanSquaredError(t.x, t.y, { sampleWeights: weights(t) }));
    expect(loss(({ classes }) => classes)).toThrow(
      "meanSquaredError: sampleWeights [3] has neither the shape of the operands nor of their leading dimensions, [6, 3]",
    );
    expect(() =>
      run(data, ({ x, labels, classes }) => softmaxCrossEntropy(x, labels, { sampleWeights: classes })),
    ).toThrow("softmaxCrossEntropy: labels [6] and sampleWeights [3] differ in shape");
    expect(loss(() => 3 as never)).toThrow(/meanSquaredError: sampleWeights: takes traced tensors/);
  });
});
