import { scope, tensor } from "@mp/graph";
import { matMul, mul, reduceSum } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { batch, params, smallRun, stateOf } from "../../../test/small-run.js";
import { momentum, sgd } from "../../optim/sgd.js";
import { bfloat16, float32, mixedBfloat16, mixedFloat16, type Precision } from "../../precision/presets.js";
import { trainer } from "../trainer.js";
import type { GroupHistogram, PrecisionReport } from "./report.js";

const of = (report: PrecisionReport, kind: string): readonly GroupHistogram[] =>
  report.groups.filter((group) => group.kind === kind);
const counted = ({ histogram: { counts, zeros } }: GroupHistogram): number =>
  counts.reduce((sum, count) => sum + count, zeros);

/** A run with loss = Σ h·w·x and h = 1: the gradient of w is x, whatever f16 makes of it on the way. */
async function linear(x: Float32Array, precision: Precision = mixedFloat16()) {
  const one = (): Float32Array => new Float32Array(x.length).fill(1);
  return trainer({
    backend: await reference(),
    params: { w: tensor(one(), [x.length, 1]) },
    loss: ({ w }, batch) => scope("product", () => reduceSum(matMul(batch.x, w))),
    optimizer: sgd({ learningRate: 0.1 }),
    precision,
    onWarning: () => undefined,
  });
}

describe("the precision report", () => {
  it("counts every weight, and each value of the forward and backward pass under its layer", async () => {
    const training = await smallRun({ precision: mixedFloat16() });
    const report = await training.precisionReport(batch(0));
    expect(
      of(report, "weights")
        .map(({ layer, dtype }) => `${layer} ${dtype}`)
        .sort(),
    ).toEqual(["hidden/b f16", "hidden/w f16", "out f16"]);
    for (const [layer, leaf] of Object.entries({ "hidden/w": params().hidden.w, out: params().out })) {
      const group = of(report, "weights").find((weights) => weights.layer === layer);
      expect(group && counted(group)).toBe(leaf.data.length);
      expect(group?.histogram.largest).toBe(Math.max(...leaf.data.map(Math.abs)));
    }
    expect(
      of(report, "weight gradients")
        .map(({ layer }) => layer)
        .sort(),
    ).toEqual(["hidden/b", "hidden/w", "out"]);
    const hidden = of(report, "activations").filter(
      ({ layer, dtype }) => layer === "hidden" && dtype === "f16",
    );
    // The product [4, 4], the sum and its positive part; the batch rounded to f16 [4, 3].
    expect(hidden.map(counted)).toEqual([3 * 16 + 12]);
    expect(of(report, "gradients").some(({ layer }) => layer === "hidden")).toBe(true);
    expect(report).toMatchObject({ precision: "mixed_float16", half: "f16", usesHalf: true, scale: 65536 });
    expect(report.casts.hash).toBe(training.explain(batch(0)).hash);
  });

  it("comes to the groups as the step does", async () => {
    const training = await smallRun({ precision: mixedFloat16() });
    const { groups } = await training.precisionReport(batch(0));
    const order = groups.map(({ kind, layer }) => `${kind}: ${layer}`);
    const places = ["activations: hidden", "activations: ", "gradients: ", "gradients: hidden"].map((name) =>
      order.indexOf(name),
    );
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBeGreaterThanOrEqual(0);
    expect(new Set(groups.map((group) => JSON.stringify([group.kind, group.layer, group.dtype]))).size).toBe(
      groups.length,
    );
  });

  it("changes nothing and is JSON as it is", async () => {
    const training = await smallRun({ precision: mixedFloat16() });
    await training.step(batch(0));
    const before = await stateOf(training);
    const report = await training.precisionReport(batch(1));
    expect(await stateOf(training)).toEqual(before);
    expect(JSON.parse(JSON.stringify(report))).toEqual(report);
    await training.dispose();
  });

  it("leaves nothing on the engine", async () => {
    const backend = await reference();
    const training = await smallRun({ backend });
    await training.step(batch(0));
    await training.precisionReport(batch(0));
    await training.dispose();
    expect(backend.stats()).toEqual({ live: 0, bytes: 0 });
  });

  it("sees gradients that f16 flushes, and finds the scale that saves them", async () => {
    const x = Float32Array.of(2 ** -40, 2 ** -30, 2 ** -30, 2 ** -20);
    const training = await linear(x);
    const report = await training.precisionReport({ x: tensor(x, [1, 4]) });
    const [gradient] = of(report, "weight gradients");
    expect(gradient).toMatchObject({
      layer: "w",
      dtype: "f16",
      histogram: { first: -40, largest: 2 ** -20 },
    });
    expect(gradient?.histogram.counts.filter((count) => count > 0)).toEqual([1, 2, 1]);
    const { shares, recommendedScale, largest, largestIn } = report.gradients;
    // The gradient of the product itself is 1, the largest, and decides the scale.
    expect([largest, largestIn?.layer, recommendedScale]).toEqual([1, "product", 2 ** 13]);
    const counts = (k: number): readonly number[] => {
      const { zero, subnormal, overflow } = shares.f16[k] ?? {};
      return [zero, subnormal, overflow].map((share) => Math.round(5 * Number(share)));
    };
    expect(counts(0)).toEqual([3, 1, 0]);
    expect(counts(5)).toEqual([1, 3, 0]);
    expect(counts(16)).toEqual([0, 1, 1]);
    expect(shares.bf16.every(({ zero, subnormal, overflow }) => zero + subnormal + overflow === 0)).toBe(
      true,
    );
  });

  it("looks at what an f16 run would hold in halves where the run itself has none", async () => {
    const training = await smallRun({ precision: float32() });
    const report = await training.precisionReport(batch(0));
    expect(report).toMatchObject({ precision: "float32", half: "f16", usesHalf: false, scale: 1 });
    expect(of(report, "gradients").some(({ dtype }) => dtype === "f16")).toBe(true);
    expect(report.casts.casts).toEqual([]);
  });

  it.each([
    ["bf16 mixed", mixedBfloat16(), "bf16"],
    ["bf16 throughout", bfloat16(), "bf16"],
  ] as const)("takes the run's own half: %s", async (_, precision, half) => {
    const report = await (await smallRun({ precision })).precisionReport(batch(0));
    expect(report.half).toBe(half);
    expect(new Set(of(report, "weights").map(({ dtype }) => dtype))).toEqual(new Set([half]));
  });

  it("counts infinities and NaN apart, wherever they are", async () => {
    const training = await linear(Float32Array.of(1, 1, 1), float32());
    const x = tensor(Float32Array.of(Number.NaN, Number.POSITIVE_INFINITY, 1), [1, 3]);
    const report = await training.precisionReport({ x });
    const [gradient] = of(report, "weight gradients");
    expect(gradient?.histogram).toMatchObject({ first: 0, counts: [1], infinities: 1, nans: 1, largest: 1 });
  });

  it("says what memory is for", async () => {
    const training = await smallRun({
      precision: mixedFloat16(),
      optimizer: momentum({ learningRate: 0.1 }),
    });
    const { memory } = await training.precisionReport(batch(0));
    expect(memory.kinds).toMatchObject({
      masters: 4 * 20,
      halfWeights: 2 * 20,
      optimizer: 4 * 20,
      modelState: 4 + 4,
      batch: 4 * (12 + 4),
      gradients: 4 * 20,
    });
    expect(memory.kinds.activations).toBeGreaterThan(0);
    expect(memory.plannedPeak).toBeGreaterThan(memory.kinds.masters + memory.kinds.optimizer);
  });

  it("of a window looks at one microbatch", async () => {
    const [whole, window] = [await smallRun(), await smallRun({ accumulate: 2 })];
    const [one, other] = [await whole.precisionReport(batch(0)), await window.precisionReport(batch(0))];
    expect(other.groups).toEqual(one.groups);
  });

  it("passes through tensors longer than a row is joined to", async () => {
    const size = 70_000;
    const x = Float32Array.from({ length: size }, (_, i) => 2 ** -(i % 20));
    const training = await trainer({
      backend: await reference(),
      params: { w: tensor(new Float32Array(size).fill(1)) },
      loss: ({ w }, batch) => reduceSum(mul(batch.x, w)),
      optimizer: sgd({ learningRate: 0.1 }),
      precision: float32(),
    });
    const report = await training.precisionReport({ x: tensor(x) });
    const [gradient] = of(report, "weight gradients");
    expect(gradient?.histogram.counts).toEqual(new Array<number>(20).fill(3500));
  });
});
