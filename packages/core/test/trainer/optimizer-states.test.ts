/** Optimizer state in few bits, through the trainer. */
import { describe, expect, it } from "vitest";
import { tensorsOfBytes } from "../../src/checkpoint/bytes.js";
import type { HostTensor } from "../../src/host/host-tensor.js";
import { adamW } from "../../src/optim/adam.js";
import type { Optimizer } from "../../src/optim/optimizer.js";
import type { StateFormat } from "../../src/optim/states/state-format.js";
import { float32 } from "../../src/precision/presets.js";
import { reference } from "../../src/reference/index.js";
import { add, mul, sub } from "../../src/trace/ops/binary.js";
import { matMul } from "../../src/trace/ops/matrix.js";
import { reduceMean } from "../../src/trace/ops/reduce.js";
import { tanh } from "../../src/trace/ops/unary.js";
import type { Tensor } from "../../src/trace/tensor.js";
import type { Traced } from "../../src/train/definition/loss.js";
import { trainer } from "../../src/train/trainer.js";
import type { Trainer } from "../../src/train/trainer-interface.js";
import { wave } from "../small-run.js";

/** `wide` has more than 4 096 elements, and no whole number of blocks. */
interface Params {
  readonly wide: HostTensor<"f32">;
  readonly narrow: HostTensor<"f32">;
  readonly bias: HostTensor<"f32">;
}
type Batch = { readonly x: Tensor; readonly y: Tensor };

const params = (): Params => ({
  wide: wave([60, 70], 0.7),
  narrow: wave([70, 2], 1.3),
  bias: wave([], 0.2),
});

const batch = (step: number, scale = 1) => {
  const x = wave([5, 60], 0.37 + step);
  return { x: { ...x, data: x.data.map((value) => value * scale) }, y: wave([5, 2], 0.9 + step) };
};

const loss = ({ wide, narrow, bias }: Traced<Params>, { x, y }: Batch): Tensor => {
  const error = sub(add(matMul(tanh(matMul(x, mul(wide, 0.1))), narrow), bias), y);
  return reduceMean(mul(error, error));
};

const run = async (optimizer: Optimizer): Promise<Trainer<Params, Batch, Record<string, never>, never>> =>
  (await trainer({
    backend: await reference(),
    params: params(),
    loss,
    optimizer,
    precision: float32(),
    seed: 3,
    onWarning: () => undefined,
  })) as never;

const with_ = (states: StateFormat, rounding: "nearest" | "stochastic" = "nearest"): Optimizer =>
  adamW({ learningRate: 0.01, states, rounding });

const slotsOf = (bytes: Uint8Array): Readonly<Record<string, HostTensor>> => tensorsOfBytes(bytes).tensors;

const FORMATS = ["bf16", "f16", "f8e4m3", "u8"] as const;

describe.each(FORMATS)("AdamW with states %s", (format) => {
  it("trains, and its checkpoint resumes with the same bits", async () => {
    const training = await run(with_(format));
    for (let step = 0; step < 3; step++) await training.step(batch(step));
    const bytes = await training.saveBytes();
    const resumed = await run(with_(format));
    await resumed.loadBytes(bytes);
    for (const each of [training, resumed]) expect((await each.step(batch(3))).applied).toBe(true);
    expect(await resumed.saveBytes()).toEqual(await training.saveBytes());
  });
});

it("a checkpoint names and types what is stored", async () => {
  const training = await run(with_("u8"));
  await training.step(batch(0));
  const types = Object.entries(slotsOf(await training.saveBytes()))
    .filter(([slot]) => slot.startsWith("optimizer/"))
    .map(([slot, { dtype, shape }]) => `${slot} ${dtype}[${shape.join()}]`);
  expect(types.sort()).toEqual([
    "optimizer/mean.absmax/wide f32[17]",
    "optimizer/mean/bias f32[]",
    "optimizer/mean/narrow f32[70,2]",
    "optimizer/mean/wide u8[60,70]",
    "optimizer/square.max/wide f32[17]",
    "optimizer/square/bias f32[]",
    "optimizer/square/narrow f32[70,2]",
    "optimizer/square/wide u8[60,70]",
  ]);
});
