/** Several devices of the CPU plugin beside one. */
import {
  adamW,
  type Backend,
  float32,
  key,
  mixedBfloat16,
  mixedFloat16,
  type Precision,
  sgd,
  type Tensor,
  tensor,
  trainer,
} from "@mp/core";
import { add, gather, relu, reshape } from "@mp/core/ops";
import { encodeArray, GraphBuilder } from "@mp/graph";
import { dense, encoderLayer, meanSquaredError, softmaxCrossEntropy } from "@mp/nn";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Client } from "../../src/pjrt/index.js";
import { open } from "./open.js";

const DEVICES = 4;
let one: Backend;
let several: Backend;
beforeAll(async () => {
  [one, several] = await Promise.all([open(), open({ devices: DEVICES })]);
});
afterAll(() => Promise.all([one.dispose(), several.dispose()]));

const BATCH = 8;
const SIZE = 16;

/** Numbers from -1 to 1, the same in every run. */
const numbers = (count: number, seed: number): Float32Array =>
  Float32Array.from({ length: count }, (_, index) => Math.sin(12.9898 * (index + 1) * seed));
const table = (rows: number, columns: number, seed: number) =>
  tensor(numbers(rows * columns, seed), [rows, columns]);

/** Dense layers with ReLU between them, as bench's W1. */
function mlp(backend: Backend, precision: Precision) {
  const layer = dense(SIZE, SIZE);
  return trainer({
    backend,
    precision,
    params: [1, 2, 3].map((seed) => layer.init(key(seed))),
    optimizer: sgd({ learningRate: 0.1 }),
    loss: (weights, { x, y }) =>
      meanSquaredError(
        weights.reduce((input, own, index) => layer.apply(own, index === 0 ? input : relu(input)), x),
        y,
      ),
    onWarning: () => undefined,
  });
}
const mlpBatch = { x: table(BATCH, SIZE, 1), y: table(BATCH, SIZE, 2) };

const TIME = 4;
const WORDS = 24;

type EncoderBatch = Readonly<Record<"inputs" | "targets", Tensor>>;

/** An encoder of one layer with dropout, as bench's W4. */
function encoder(backend: Backend, precision: Precision) {
  const layer = encoderLayer(SIZE, 2, { hidden: 32, dropout: 0.1 });
  const project = dense(SIZE, WORDS);
  return trainer({
    backend,
    precision,
    params: {
      words: table(WORDS, SIZE, 3),
      places: table(TIME, SIZE, 4),
      layer: layer.init(key(5)),
      output: project.init(key(6)),
    },
    optimizer: adamW({ learningRate: 1e-3 }),
    loss: ({ words, places, layer: own, output }, { inputs, targets }: EncoderBatch, context) => {
      const x = layer.apply(own, add(gather(words, inputs), places), context);
      return softmaxCrossEntropy(project.apply(output, reshape(x, [BATCH * TIME, SIZE])), targets);
    },
    onWarning: () => undefined,
  });
}
const words = (factor: number) => Int32Array.from({ length: BATCH * TIME }, (_, at) => (at * factor) % WORDS);
const encoderBatch = {
  inputs: tensor(words(7), [BATCH, TIME], "i32"),
  targets: tensor(words(5), [BATCH * TIME], "i32"),
};

const STEPS = 4;

/** The losses of a few steps. */
async function losses<B extends object>(
  training: { step(batch: B): Promise<{ readonly loss: number }>; dispose(): Promise<void> },
  batch: B,
): Promise<readonly number[]> {
  const all: number[] = [];
  for (let step = 0; step < STEPS; step++) all.push((await training.step(batch)).loss);
  await training.dispose();
  return all;
}

describe("trains to the losses of one device", () => {
  it.each([
    ["an MLP in float32", async (on: Backend) => losses(await mlp(on, float32()), mlpBatch)],
    ["an MLP in mixed_bfloat16", async (on: Backend) => losses(await mlp(on, mixedBfloat16()), mlpBatch)],
    [
      "an encoder in mixed_bfloat16",
      async (on: Backend) => losses(await encoder(on, mixedBfloat16()), encoderBatch),
    ],
  ])("%s", async (_, train) => {
    const alone = await train(one);
    for (const [step, loss] of (await train(several)).entries())
      expect(Math.abs(loss / (alone[step] ?? 0) - 1)).toBeLessThan(1e-6);
  });
});

it("skips a step on all devices for an overflow in the samples of one", async () => {
  const training = await mlp(several, mixedFloat16());
  const before = await training.parameters();
  const rows = numbers(BATCH * SIZE, 1);
  // The last device's: their products exceed float16's range.
  rows.fill(60000, (BATCH - 1) * SIZE);
  const { applied } = await training.step({ ...mlpBatch, x: tensor(rows, [BATCH, SIZE]) });
  expect(applied).toBe(false);
  expect(await training.parameters()).toEqual(before);
  expect((await training.step(mlpBatch)).applied).toBe(true);
  await training.dispose();
});

it("goes on from another number of devices, and evaluates and predicts as one", async () => {
  const [alone, together] = [await mlp(one, float32()), await mlp(several, float32())];
  await together.step(mlpBatch);
  await alone.loadBytes(await together.saveBytes());
  const layer = dense(SIZE, SIZE);
  const predict = (training: typeof alone) =>
    training.predict(([first], x: Tensor) => layer.apply(first as never, x), mlpBatch.x);
  const [results, expected] = [await predict(together), await predict(alone)];
  expect(results).toMatchObject({ shape: [BATCH, SIZE] });
  expect(results).toEqual(expected);
  const [own, other] = [await together.evaluate(mlpBatch), await alone.evaluate(mlpBatch)];
  expect(own.loss).toBeCloseTo(other.loss, 6);
  await Promise.all([alone.dispose(), together.dispose()]);
});

it("refuses a batch that the devices cannot divide", async () => {
  const training = await mlp(several, float32());
  await expect(training.step({ x: table(6, SIZE, 1), y: table(6, SIZE, 2) })).rejects.toMatchObject({
    code: "MP_SHAPE_MISMATCH",
    message: expect.stringMatching(/batch\/x \[6, 16\] has 6 rows, which 4 devices cannot divide/),
    details: { rows: 6, devices: 4 },
  });
  await training.dispose();
});

it("says how many devices there are if they are too few", async () => {
  vi.spyOn(Client.prototype, "deviceCount", "get").mockReturnValue(2);
  await expect(open({ devices: 8 })).rejects.toMatchObject({
    code: "MP_BACKEND_UNAVAILABLE",
    message: expect.stringMatching(/finds no 8 devices \(there are 2\); check the device/),
  });
  vi.restoreAllMocks();
});

it("adds halves of different devices in float32, before they are rounded", async () => {
  const half = (values: readonly number[]) =>
    tensor(encodeArray("bf16", Float32Array.from(values)), [2 * DEVICES, 1], "bf16");
  const builder = new GraphBuilder();
  const a = builder.input("a", { dtype: "bf16", shape: [2 * DEVICES, 1] }, "batch");
  const b = builder.input("b", { dtype: "bf16", shape: [2 * DEVICES, 1] }, "batch");
  const turned = builder.emitOne("Transpose", [a], { perm: [1, 0] });
  const executable = await several.compile(
    builder.finish({
      product: builder.emitOne("MatMul", [turned, b], {}),
      sum: builder.emitOne("ReduceSum", [a], { axes: [0], keepdims: false }),
    }),
  );
  // In bfloat16 the first device's part of 257 is 256, and the sum 258.
  const results = await executable.run({
    a: half([256, 1, 1, 0, 1, 0, 0, 0]),
    b: half([1, 1, 1, 1, 1, 1, 1, 1]),
  });
  const [right] = encodeArray("bf16", Float32Array.of(260));
  for (const name of ["product", "sum"]) expect([...(results[name]?.data ?? [])]).toEqual([right]);
  await executable.dispose();
});
