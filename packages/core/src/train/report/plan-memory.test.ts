import { type BackendManifest, type Graph, grad, key, prepareGraph, type Tensor, traceInto } from "@mp/graph";
import { attention, randomBernoulli, reduceSum, where } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { batch, smallRun } from "../../../test/small-run.js";
import { adam } from "../../optim/adam.js";
import { kahan } from "../../precision/master-weights.js";
import { mixedFloat16 } from "../../precision/presets.js";
import { planMemory, planPeak } from "./plan-memory.js";

const { manifest } = await reference();
const PARAMETERS = 4 * 20;
const ROWS = 4096;

async function planned(
  options: Parameters<typeof smallRun>[0] = {},
  own: Partial<BackendManifest> = {},
  rows = ROWS,
) {
  const training = await smallRun({ optimizer: adam({ learningRate: 0.1 }), ...options });
  try {
    const { precision } = training;
    return planMemory(training.graph(batch(0, rows)), { manifest: { ...manifest, ...own }, precision });
  } finally {
    await training.dispose();
  }
}

/** The backward pass of several attentions in a row. */
function attentions(layers: number): Graph {
  const type = { dtype: "f32", shape: [1, 2, 64, 4] } as const;
  const inputs = ["q", "k", "v"].map((name) => ({ name, role: "batch" as const, type }));
  const { graph } = traceInto(inputs, ([q, k, v]) =>
    grad((query: Tensor) => {
      let y = query;
      for (let layer = 0; layer < layers; layer++) y = attention(y, k as Tensor, v as Tensor);
      return reduceSum(y);
    })(q as Tensor),
  );
  return prepareGraph(graph);
}

describe("planMemory", () => {
  it("counts the scores of attention while it runs, and keeps none for the backward pass", () => {
    const [operand, scores] = [4 * 2 * 64 * 4, 4 * 2 * 64 * 64];
    const peakOf = (layers: number): number => planPeak(attentions(layers), manifest);
    expect(peakOf(1)).toBeGreaterThan(2 * scores);
    expect(peakOf(9) - peakOf(1)).toBeLessThan(8 * 3 * operand);
  });

  it("counts parameters, their gradients and the optimizer, whatever the batch", async () => {
    for (const rows of [4, ROWS]) {
      const { kinds, state } = await planned({}, {}, rows);
      expect(kinds).toMatchObject({
        masters: PARAMETERS,
        gradients: PARAMETERS,
        optimizer: 2 * PARAMETERS,
        batch: 4 * 4 * rows,
      });
      expect(state).toBeGreaterThanOrEqual(3 * PARAMETERS + 8);
      expect(state).toBeLessThan(3 * PARAMETERS + 100);
    }
    const compensated = await planned({ precision: { ...mixedFloat16(), masterWeights: kahan("f16") } });
    expect(compensated.kinds.gradients).toBe(PARAMETERS);
  });

  it("grows with the batch as the activations do, on top of the old and the new state", async () => {
    const [small, large] = [await planned({}, {}, ROWS), await planned({}, {}, 2 * ROWS)];
    const growth = large.peak - small.peak;
    expect(growth).toBeGreaterThan(small.kinds.activations);
    expect(Math.abs(small.peak - 2 * small.state - growth)).toBeLessThan(0.02 * growth);
  });

  it("counts the next state only while it is there, on an engine that takes memory as it computes", async () => {
    const early = await planned();
    const late = await planned({}, { nextState: "as-computed" });
    expect(early.peak - late.peak).toBeGreaterThan(0);
    expect(early.peak - late.peak).toBeLessThan(early.state + 64);
  });

  it("counts memory that an engine keeps for later results of a shape", () => {
    const kept = { ...manifest, intermediates: "kept-for-its-shape" } as const;
    const graph = attentions(2);
    expect(planPeak(graph, kept)).toBeGreaterThan(planPeak(graph, manifest));
  });

  it("counts what drawing random bits takes beside them", async () => {
    const graph = traceInto([{ name: "x", role: "batch", type: { dtype: "f32", shape: [1000] } }], ([x]) => ({
      y: where(randomBernoulli(key(1), 0.5, [1000]), x as Tensor, 0),
    })).graph;
    const peak = planPeak(graph, manifest);
    expect(peak).toBeGreaterThanOrEqual(5 * 8 * 1000 + 4 * 1000);
    expect(peak).toBeLessThan(5 * 8 * 1000 + 2 * 4 * 1000 + 100);
  });

  it("counts halves at half their size, or as the f32 that carries them", async () => {
    const plannedWith = (f16: BackendManifest["dtypes"]["f16"]) =>
      planned({ precision: mixedFloat16() }, { dtypes: { ...manifest.dtypes, f16 } });
    const native = await plannedWith({ storage: "f16", compute: "native" });
    const emulated = await plannedWith({ storage: "f32", compute: "emulated" });
    expect(native.peak).toBeLessThan(emulated.peak);
  });

  it("counts the sums of a window, and the state that is only written at its end", async () => {
    const window = await planned({ accumulate: 2 }, {}, 4);
    const whole = await planned({}, {}, 4);
    expect(window.state - whole.state).toBeGreaterThanOrEqual(PARAMETERS);
    expect(window.peak).toBeGreaterThanOrEqual(2 * window.state);
  });
});
