/** Whole training runs on a device of WebGPU, beside the processor. */
import { adamW, float32, mixedFloat16, type Precision, sgd, trainer } from "@mp/core";
import { type Backend, key, type Tensor, tensor } from "@mp/graph";
import { relu, reshape } from "@mp/graph/ops";
import {
  asModel,
  averagePooling,
  batchNorm,
  convolution,
  dense,
  dropout,
  residual,
  sequential,
  softmaxCrossEntropy,
} from "@mp/nn";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ort } from "../../src/index.js";
import {
  NativeRuntime,
  openRuntime,
  PROCESSOR,
  placement,
  RECORD_PLACEMENT,
} from "../../src/native/index.js";

let gpu: Backend;
let cpu: Backend;
beforeAll(async () => {
  [gpu, cpu] = [await ort({ device: "webgpu" }), await ort()];
});
afterAll(async () => {
  await gpu.dispose();
  await cpu.dispose();
});

const PRECISIONS: readonly (readonly [string, () => Precision])[] = [
  ["float32", float32],
  ["mixed_float16", mixedFloat16],
];

const net = sequential(dense(2, 32), relu, dropout(0.1), dense(32, 2));

const netOn = (backend: Backend, precision: Precision) =>
  trainer({
    backend,
    params: net.init(key(42)),
    loss: (params, { x, y }: Batch, context) => softmaxCrossEntropy(net.apply(params, x, context), y),
    optimizer: adamW({ learningRate: 1e-2 }),
    precision,
    seed: 7,
    onWarning: () => undefined,
  });

type Batch = { readonly x: Tensor; readonly y: Tensor };

/** Points of the plane, and whether they lie in the first or third quadrant. */
function points(step: number) {
  const all = Array.from({ length: 64 }, (_, i) => [
    Math.sin(7919 * (64 * step + i)),
    Math.cos(104729 * (i + step)),
  ]);
  return {
    x: tensor(Float32Array.from(all.flat()), [64, 2]),
    y: tensor(Int32Array.from(all, ([a = 0, b = 0]) => Number(a * b > 0))),
  };
}

const farthest = (some: readonly number[], others: readonly number[]): number =>
  Math.max(...some.map((loss, step) => Math.abs(loss - (others[step] ?? Number.NaN))));

describe.each(PRECISIONS)("a net with dropout in %s", (_, precision) => {
  it("trains as on the processor", async () => {
    const losses: number[][] = [];
    for (const backend of [gpu, cpu]) {
      const training = await netOn(backend, precision());
      const run: number[] = [];
      for (let step = 0; step < 40; step++) run.push((await training.step(points(step))).loss);
      losses.push(run);
      expect(await training.parameters()).toBeDefined();
      await training.dispose();
    }
    const [onGpu = [], onCpu = []] = losses;
    expect(onCpu.at(-1)).toBeLessThan((onCpu[0] ?? 0) * 0.9);
    expect(farthest(onGpu, onCpu)).toBeLessThan(5e-3);
  });

  it("goes on from the processor's checkpoint, and the processor from its", async () => {
    const straight: number[] = [];
    const alone = await netOn(cpu, precision());
    for (let step = 0; step < 15; step++) straight.push((await alone.step(points(step))).loss);
    await alone.dispose();
    const moved: number[] = [];
    let saved: Uint8Array | undefined;
    for (const backend of [cpu, gpu, cpu]) {
      const training = await netOn(backend, precision());
      if (saved !== undefined) await training.loadBytes(saved);
      for (let count = 0; count < 5; count++) moved.push((await training.step(points(moved.length))).loss);
      saved = await training.saveBytes();
      await training.dispose();
    }
    expect(farthest(moved, straight)).toBeLessThan(2e-3);
  });
});

/** ResNet-20 of He et al. with a width of 4, on images of 8 by 8. */
function resNet20() {
  const norm = (inputs: number, outputs: number, size: number, stride = 1) =>
    [
      convolution(inputs, outputs, size, { stride, padding: "same", bias: false }),
      batchNorm(outputs),
    ] as const;
  let inputs = 4;
  const blocks = [4, 8, 16].flatMap((outputs, stage) =>
    [0, 1, 2].map((index) => {
      const stride = index === 0 && stage > 0 ? 2 : 1;
      const body = sequential(...norm(inputs, outputs, 3, stride), relu, ...norm(outputs, outputs, 3));
      const shortcut = stride === 1 ? (x: Tensor) => x : sequential(...norm(inputs, outputs, 1, stride));
      inputs = outputs;
      return sequential(residual(body, shortcut), relu);
    }),
  );
  const flat = (x: Tensor): Tensor => reshape(x, [x.shape[0] ?? 0, 16]);
  const all = sequential(...norm(3, 4, 3), relu, ...blocks, averagePooling(2), flat, dense(16, 10));
  return asModel(all);
}

/** The models of all sessions that are loaded while the function runs. */
async function modelsOf(run: () => Promise<void>): Promise<readonly Uint8Array[]> {
  const models: Uint8Array[] = [];
  const { createSession } = NativeRuntime.prototype;
  const spy = vi.spyOn(NativeRuntime.prototype, "createSession").mockImplementation(function (
    this: NativeRuntime,
    model,
    options,
  ) {
    models.push(model);
    return createSession.call(this, model, options);
  });
  try {
    await run();
  } finally {
    spy.mockRestore();
  }
  return models;
}

it.each(PRECISIONS)("every node of ResNet-20's step is on the device in %s", async (_, precision) => {
  const model = resNet20();
  const images = (step: number) => ({
    x: tensor(
      Float32Array.from({ length: 8 * 3 * 8 * 8 }, (__, i) => Math.sin(i * 0.7 + step * 1.3)),
      [8, 3, 8, 8],
    ),
    y: tensor(Int32Array.from({ length: 8 }, (__, i) => i)),
  });
  const warnings: string[] = [];
  const trained = async (backend: Backend) => {
    const training = await trainer({
      backend,
      params: model.init(key(1)),
      modelState: model.initState(),
      loss: (params, { x, y }: Batch, context) => {
        const [logits, modelState] = model.apply(params, x, context);
        return { loss: softmaxCrossEntropy(logits, y), modelState };
      },
      optimizer: sgd({ learningRate: 0.01 }),
      precision: precision(),
      onWarning: ({ type }) => void warnings.push(type),
    });
    const steps: { readonly loss: number; readonly applied: boolean }[] = [];
    for (let step = 0; step < 6; step++) {
      const { loss, applied } = await training.step(images(0));
      steps.push({ loss, applied });
    }
    await training.dispose();
    return steps;
  };
  const onCpu = await trained(cpu);
  warnings.length = 0;
  const models = await modelsOf(async () => {
    const onGpu = await trained(gpu);
    expect(onGpu.map(({ applied }) => applied)).toEqual(onCpu.map(({ applied }) => applied));
    const lossesOf = (steps: typeof onGpu) => steps.map(({ loss }) => loss);
    expect(Math.abs((onGpu[0]?.loss ?? 0) - (onCpu[0]?.loss ?? 0))).toBeLessThan(1e-3);
    // Statistics over few values: what differs in the last bit of a half dtype grows from step to step.
    expect(farthest(lossesOf(onGpu), lossesOf(onCpu))).toBeLessThan(0.1);
    expect(onGpu.at(-1)?.loss).toBeLessThan(onGpu[0]?.loss ?? 0);
  });
  expect(warnings).not.toContain("fallback");
  const runtime = await openRuntime({ device: "webgpu" });
  const largest = models.reduce((one, other) => (one.length > other.length ? one : other));
  const session = await runtime.createSession(largest, { config: RECORD_PLACEMENT });
  const nodes = placement(session);
  expect(nodes.length).toBeGreaterThan(200);
  expect(nodes.filter(({ provider }) => provider === PROCESSOR)).toEqual([]);
  await runtime.dispose();
});
