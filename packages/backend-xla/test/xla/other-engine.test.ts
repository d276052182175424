import { ort } from "@mp/backend-ort";
import {
  adam,
  type Backend,
  dynamicLossScale,
  mixedFloat16,
  type StepResult,
  tensor,
  trainer,
} from "@mp/core";
import { add, matMul, mul, randomBernoulli, reduceMean, relu, sub, where } from "@mp/core/ops";
import { expect, it } from "vitest";
import { open } from "./open.js";

const wave = (shape: readonly number[], frequency: number) =>
  tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, at) => Math.sin(frequency * (at + 1))),
    shape,
  );

/** Dropout, a moving mean, windows of two, and a loss scale that is too high at first and grows later. */
const start = (backend: Backend) =>
  trainer({
    backend,
    params: { hidden: wave([3, 8], 0.7), out: wave([8, 1], 1.3) },
    modelState: { mean: wave([8], 0) },
    loss: ({ hidden, out }, { x, y }, { key, modelState }) => {
      const inner = relu(matMul(x, hidden));
      const error = sub(matMul(where(randomBernoulli(key, 0.75, inner.shape), inner, 0), out), y);
      const mean = add(mul(modelState.mean, 0.9), mul(reduceMean(inner, { axes: [0] }), 0.1));
      return { loss: reduceMean(mul(error, error)), modelState: { mean } };
    },
    optimizer: adam({ learningRate: 0.02 }),
    precision: {
      ...mixedFloat16(),
      lossScaler: dynamicLossScale({ initialScale: 2 ** 20, growthInterval: 4 }),
    },
    accumulate: 2,
    onOverflow: "retry",
    seed: 3,
    onWarning: () => undefined,
  });

const batch = (index: number) => ({ x: wave([4, 3], index + 0.3), y: wave([4, 1], index + 0.9) });

type Leg = readonly [open: () => Promise<Backend>, until: number];

/** Trains on one engine after the other, each from the checkpoint of the one before. */
async function relay(...legs: readonly Leg[]) {
  const steps: StepResult[] = [];
  let saved: Uint8Array | undefined;
  let counters: unknown;
  for (const [make, until] of legs) {
    const backend = await make();
    const training = await start(backend);
    if (saved !== undefined) await training.loadBytes(saved);
    for (let step = steps.length; step < until; step++)
      steps.push(await training.step(batch(2 * step), batch(2 * step + 1)));
    saved = await training.saveBytes();
    counters = await training.counters();
    await training.dispose();
    await backend.dispose();
  }
  return { steps, counters, header: headerOf(saved as Uint8Array) };
}

/** The beginning of a checkpoint: settings, and the types of all tensors. */
const headerOf = (saved: Uint8Array): string => {
  const length = Number(new DataView(saved.buffer, saved.byteOffset).getBigUint64(0, true));
  return new TextDecoder().decode(saved.subarray(8, 8 + length));
};

it("continues what ONNX Runtime has trained, and ONNX Runtime what XLA has", async () => {
  const whole = await relay([ort, 12]);
  const told = ({ steps, counters, header }: typeof whole) => ({
    counters,
    header,
    steps: steps.map(({ applied, scale, retries }) => ({ applied, scale, retries })),
  });
  // The scale must have fallen and grown, on both engines.
  expect(whole.steps.map(({ retries }) => retries > 0)).toContain(true);
  expect(new Set(whole.steps.map(({ scale }) => scale)).size).toBeGreaterThan(2);
  for (const legs of [
    [
      [ort, 4],
      [open, 8],
      [ort, 12],
    ],
    [
      [open, 4],
      [ort, 8],
      [open, 12],
    ],
  ] as const) {
    const parts = await relay(...legs);
    expect(told(parts)).toEqual(told(whole));
    for (const [at, { loss }] of parts.steps.entries())
      expect(Math.abs(loss / (whole.steps[at]?.loss ?? 0) - 1), `loss of step ${at}`).toBeLessThan(2e-3);
  }
});
