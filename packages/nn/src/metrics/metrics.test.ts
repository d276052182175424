/** Streamed metrics over batches of 32, 32 and 19 samples equal those of other libraries over all 83. */
import { readFileSync } from "node:fs";
import { float32, mixedFloat16, type PrecisionChoice, sgd, type Tensor, tensor, trainer } from "@mp/core";
import { add, cast, equal, log, mul, reduceMean, sigmoid, sub, where } from "@mp/core/ops";
import { reference } from "@mp/core/reference";
import type { DatasetEvaluation, StreamedMetrics } from "@mp/core/report";
import { describe, expect, it } from "vitest";
import * as metrics from "./index.js";

interface Expected {
  readonly accuracy: number;
  readonly top2: number;
  readonly confusion: readonly (readonly number[])[];
  readonly each: { readonly [K in keyof metrics.PrecisionRecall]: readonly number[] };
  readonly macro: metrics.PrecisionRecall;
  readonly micro: metrics.PrecisionRecall;
  readonly weighted: metrics.PrecisionRecall;
  readonly binary: metrics.PrecisionRecall & { readonly accuracy: number };
  readonly rocAuc: number;
  readonly averagePrecision: number;
  readonly mae: number;
  readonly mse: number;
  readonly r2: number;
  readonly perplexity: number;
}

/** Made by test/fixtures/metrics.py. */
const fixture = JSON.parse(
  readFileSync(new URL("../../test/fixtures/metrics.json", import.meta.url), "utf8"),
) as {
  readonly data: Readonly<Record<string, readonly number[]>>;
  readonly plain: Expected;
  readonly byWeights: Expected;
  readonly torchmetrics: Readonly<Record<string, number>>;
  readonly keras: Readonly<Record<string, number>>;
};

const CLASSES = 5;
type Batch = Readonly<
  Record<"logits" | "labels" | "scores" | "targets" | "values" | "predictions" | "each", Tensor>
>;

function part(from: number, to: number) {
  const cut = (name: string, width = 1): readonly number[] =>
    fixture.data[name]?.slice(from * width, to * width) ?? [];
  const floats = (name: string, width?: number) => {
    const data = Float32Array.from(cut(name, width));
    return tensor(data, width === undefined ? [to - from] : [to - from, width]);
  };
  return {
    logits: floats("logits", CLASSES),
    labels: tensor(Int32Array.from(cut("labels")), [to - from]),
    scores: floats("scores"),
    targets: floats("targets"),
    values: floats("values"),
    predictions: floats("predictions"),
    each: floats("weights"),
  };
}

async function evaluated<S extends StreamedMetrics>(
  metricsOf: (weights: unknown, batch: Batch) => S,
  precision: PrecisionChoice = float32(),
): Promise<DatasetEvaluation<never, S>["metrics"]> {
  await using training = await trainer({
    backend: await reference(),
    params: { w: tensor(Float32Array.of(1), []) },
    loss: ({ w }, { scores }: Batch) => reduceMean(mul(w, scores)),
    optimizer: sgd({ learningRate: 0.1 }),
    precision,
    onWarning: () => undefined,
  });
  const { metrics: found } = await training.evaluateAll([part(0, 32), part(32, 64), part(64, 83)], {
    metrics: metricsOf,
  });
  return found;
}

/** All metrics, by their names in the fixture. */
const all =
  (isWeighted: boolean) =>
  (_: unknown, { logits, labels, scores, targets, values, predictions, each }: Batch) => {
    const options = isWeighted ? { sampleWeights: each } : {};
    return {
      accuracy: metrics.accuracy(logits, labels, options),
      top2: metrics.topKAccuracy(logits, labels, 2, options),
      confusion: metrics.confusionMatrix(logits, labels, options),
      macro: metrics.precisionRecall(logits, labels, options),
      micro: metrics.precisionRecall(logits, labels, { ...options, average: "micro" }),
      weighted: metrics.precisionRecall(logits, labels, { ...options, average: "weighted" }),
      binary: metrics.binaryPrecisionRecall(scores, targets, options),
      rocAuc: metrics.rocAuc(scores, targets, options),
      averagePrecision: metrics.averagePrecision(scores, targets, options),
      mae: metrics.meanAbsoluteError(predictions, values, options),
      mse: metrics.meanSquaredError(predictions, values, options),
      r2: metrics.rSquared(predictions, values, options),
      perplexity: metrics.perplexity(logits, labels, options),
    };
  };

/** Compares the numbers in two structures, to the precision of f32, in which batches are summed. */
function near(got: unknown, want: unknown, name: string): void {
  if (typeof want !== "object" || want === null) {
    const [a, b] = [Number(got), Number(want)];
    expect(Math.abs(a - b), `${name}: ${a} against ${b}`).toBeLessThanOrEqual(
      3e-7 * Math.max(1, Math.abs(b)),
    );
    return;
  }
  for (const [key, value] of Object.entries(want)) {
    near((got as Readonly<Record<string, unknown>>)[key], value, `${name}/${key}`);
  }
}

describe("metrics of a whole set", () => {
  it.each([
    ["plain", float32()],
    ["byWeights", float32()],
    ["byWeights", mixedFloat16()],
  ] as const)("are scikit-learn's, %s in %o", async (kind, precision) => {
    const found = await evaluated(all(kind === "byWeights"), precision);
    const { each, ...others } = fixture[kind];
    near(found, others, kind);
    each.f1.forEach((_, at) => {
      near(
        found.macro.classes[at],
        { precision: each.precision[at], recall: each.recall[at], f1: each.f1[at] },
        `${at}`,
      );
    });
  });

  it("are torchmetrics' and Keras's, also where labels are ignored", async () => {
    const options = { ignoreIndex: 2 };
    const found = await evaluated((_, { logits, labels, scores, targets, each }) => ({
      perplexityIgnoring: metrics.perplexity(logits, labels, options),
      accuracyIgnoring: metrics.accuracy(logits, labels, options),
      rocAuc: metrics.rocAuc(sigmoid(scores), targets),
      averagePrecision: metrics.averagePrecision(sigmoid(scores), targets),
      weightedAccuracy: metrics.accuracy(logits, labels, { sampleWeights: each }),
      mean: metrics.mean(each),
    }));
    const { perplexityIgnoring, accuracyIgnoring, rocAuc, averagePrecision } = fixture.torchmetrics;
    near(found, { perplexityIgnoring, accuracyIgnoring, rocAuc, averagePrecision }, "torchmetrics");
    near(found, fixture.keras, "Keras");
    const weights = fixture.data["weights"] ?? [];
    near(found.mean, weights.reduce((sum, weight) => sum + weight, 0) / weights.length, "mean");
  });

  it("take logits that a policy made halves, and labels that are no class but ignored", async () => {
    const found = await evaluated(
      (_, { logits, labels }) => ({
        ignored: metrics.accuracy(logits, where(equal(labels, 2), 1002, labels), { ignoreIndex: 1002 }),
        matrix: metrics.confusionMatrix(logits, labels, { ignoreIndex: 0 }),
      }),
      mixedFloat16(),
    );
    near(found.ignored, fixture.torchmetrics["accuracyIgnoring"], "ignored");
    expect(found.matrix[0]).toEqual([0, 0, 0, 0, 0]);
    expect(found.matrix.slice(1)).toEqual(fixture.plain.confusion.slice(1));
  });

  it.each([-1, 5, 2 ** 31])(
    "refuse the label %d, which is no class, unless it has no weight",
    async (wrong) => {
      const judges = { accuracy: metrics.accuracy, confusionMatrix: metrics.confusionMatrix };
      const wronged = (labels: Tensor): Tensor => where(equal(labels, 2), wrong, cast(labels, "i64"));
      for (const [name, judge] of Object.entries({ ...judges, precisionRecall: metrics.precisionRecall })) {
        const failing = evaluated((_, { logits, labels }) => ({ m: judge(logits, wronged(labels)) }));
        await expect(failing).rejects.toMatchObject({ code: "MP_OUT_OF_RANGE" });
        await expect(failing).rejects.toThrow(`${name}: labels are outside the classes`);
      }
      const found = await evaluated((_, { logits, labels }) => ({
        padded: metrics.accuracy(logits, wronged(labels), {
          sampleWeights: sub(1, cast(equal(labels, 2), "f32")),
        }),
      }));
      near(found.padded, fixture.torchmetrics["accuracyIgnoring"], "padded");
    },
  );

  it("refuse targets of -1 for no event", async () => {
    const signed = (targets: Tensor): Tensor => sub(mul(targets, 2), 1);
    const judges = { rocAuc: metrics.rocAuc, averagePrecision: metrics.averagePrecision };
    for (const [name, judge] of Object.entries({
      ...judges,
      binaryPrecisionRecall: metrics.binaryPrecisionRecall,
    })) {
      const failing = evaluated((_, { scores, targets }) => ({ m: judge(scores, signed(targets)) }));
      await expect(failing).rejects.toMatchObject({ code: "MP_OUT_OF_RANGE" });
      await expect(failing).rejects.toThrow(`${name}: targets are outside 0 … 1`);
    }
  });

  it("do not see what has no weight, be it NaN", async () => {
    const found = await evaluated((_, { values, predictions, scores, targets }) => {
      const sampleWeights = cast(targets, "f32");
      // Infinite or NaN wherever the target is 0.
      const broken = (x: Tensor): Tensor => add(x, log(sub(mul(sampleWeights, 2), 1)));
      const half = { sampleWeights };
      return {
        mean: metrics.mean(broken(values), half),
        meanAsIs: metrics.mean(values, half),
        r2: metrics.rSquared(broken(predictions), broken(values), half),
        r2AsIs: metrics.rSquared(predictions, values, half),
        precision: metrics.averagePrecision(broken(scores), targets, half),
      };
    });
    expect(found.mean).toBe(found.meanAsIs);
    expect(found.r2).toBe(found.r2AsIs);
    expect(found.precision).toBe(1);
  });

  it("merge variances without cancellation", async () => {
    const far = await evaluated((_, { predictions, values }) => ({
      r2: metrics.rSquared(add(predictions, 1e5), add(values, 1e5)),
    }));
    expect(far.r2).toBeCloseTo(fixture.plain.r2, 3);
  });

  it("are NaN where nothing counts, and say what does not fit", async () => {
    const nothing = await evaluated((_, { scores, targets, values }) => ({
      auc: metrics.rocAuc(scores, mul(targets, 0)),
      ap: metrics.averagePrecision(scores, mul(targets, 0)),
      r2: metrics.rSquared(values, mul(values, 0)),
      none: metrics.binaryPrecisionRecall(mul(scores, 0), mul(targets, 0)),
    }));
    expect(nothing).toMatchObject({
      auc: Number.NaN,
      ap: Number.NaN,
      none: { precision: 0, recall: 0, f1: 0, accuracy: 1 },
    });
    expect(nothing.r2).toBe(Number.NEGATIVE_INFINITY);
    const broken = await evaluated((_, { scores, targets }) => ({
      binary: metrics.binaryPrecisionRecall(mul(scores, Number.NaN), mul(targets, 0)),
    }));
    expect(broken.binary).toEqual({ precision: 0, recall: 0, f1: 0, accuracy: 1 });
    const fails = (metricsOf: (batch: Batch) => StreamedMetrics, message: string) =>
      expect(evaluated((_, batch) => metricsOf(batch))).rejects.toThrow(message);
    await fails(
      ({ logits, labels }) => ({ m: metrics.accuracy(labels, logits) }),
      "accuracy: logits [32] take labels [], got [32, 5]; the order is (logits, labels)",
    );
    await fails(
      ({ logits, labels }) => ({ m: metrics.accuracy(logits, labels, { sampleWeights: logits }) }),
      "accuracy: labels [32] and sampleWeights [32, 5] differ in shape",
    );
    await fails(
      ({ scores, logits }) => ({ m: metrics.rocAuc(scores, logits) }),
      "rocAuc: scores [32] and targets [32, 5]",
    );
    await fails(
      ({ logits, labels }) => ({ m: metrics.topKAccuracy(logits, labels, 9) }),
      "topKAccuracy: k must be an integer from 1 to 5, got 9",
    );
    await fails(
      ({ logits, labels }) => ({ m: metrics.precisionRecall(logits, labels, { average: "mean" as never }) }),
      'precisionRecall: average must be "macro" or "weighted" or "micro"',
    );
  });
});
