/** Optimizer state in few bits, through the trainer. */

import { type HostTensor, mapTensors, type Tensor, type TensorTree, tensor } from "@mp/graph";
import { add, cast, matMul, mul, reduceMean, reduceSum, sub, tanh } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { tensorsOfBytes } from "../../src/checkpoint/bytes.js";
import { adamW } from "../../src/optim/adam.js";
import type { Optimizer } from "../../src/optim/optimizer.js";
import type { StateFormat } from "../../src/optim/states/state-format.js";
import { float32 } from "../../src/precision/presets.js";
import type { Traced } from "../../src/train/definition/loss.js";
import { planMemory } from "../../src/train/report/plan-memory.js";
import type { Trainer } from "../../src/train/run/trainer-interface.js";
import { trainer } from "../../src/train/trainer.js";
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

type Training = Trainer<Params, Batch, Record<string, never>, never>;

const run = async (optimizer: Optimizer): Promise<Training> =>
  (await trainer({
    backend: await reference(),
    params: params(),
    loss,
    optimizer,
    precision: float32(),
    seed: 3,
    onWarning: () => undefined,
  })) as never;

const stored = (states: StateFormat, rounding: "nearest" | "stochastic" = "nearest"): Optimizer =>
  adamW({ learningRate: 0.01, states, rounding });

const FORMATS = ["bf16", "f16", "f8e4m3", "u8"] as const;

/** The slots of the optimizer in its checkpoint, with the bits of their values. */
const optimizerIn = async (training: Training): Promise<Readonly<Record<string, HostTensor>>> => {
  const { tensors } = tensorsOfBytes(await training.saveBytes());
  return Object.fromEntries(Object.entries(tensors).filter(([slot]) => slot.startsWith("optimizer/")));
};

const sizeOf = (tensors: Readonly<Record<string, HostTensor>>, wide = ""): number =>
  Object.entries(tensors).reduce(
    (sum, [slot, { data }]) => sum + (slot.endsWith(wide) ? data.byteLength : 0),
    0,
  );

describe.each(FORMATS)("AdamW with states %s", (format) => {
  it.each(["nearest", "stochastic"] as const)("resumes with the same bits, rounded %s", async (rounding) => {
    const training = await run(stored(format, rounding));
    for (let step = 0; step < 3; step++) await training.step(batch(step));
    const bytes = await training.saveBytes();
    const resumed = await run(stored(format, rounding));
    await resumed.loadBytes(bytes);
    expect(resumed.warnings).toEqual([]);
    for (const each of [training, resumed]) expect((await each.step(batch(3))).applied).toBe(true);
    expect(await resumed.saveBytes()).toEqual(await training.saveBytes());
  });

  it("keeps codes and scales bit for bit where a step is skipped", async () => {
    const training = await run(stored(format));
    await training.step(batch(0));
    const before = await optimizerIn(training);
    for (const scale of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect((await training.step(batch(1, scale))).applied, String(scale)).toBe(false);
      expect(await optimizerIn(training)).toEqual(before);
    }
    expect((await training.step(batch(2))).applied).toBe(true);
  });

  it("resumes a checkpoint in f32, and is resumed in f32", async () => {
    const exact = await run(stored("f32"));
    for (let step = 0; step < 3; step++) await exact.step(batch(step));
    const inF32 = await optimizerIn(exact);
    const training = await run(stored(format));
    await training.loadBytes(await exact.saveBytes());
    expect(training.warnings.map(({ message }) => message)[0]).toMatch(
      /^loadBytes: converts the optimizer's state/,
    );
    const back = await run(stored("f32"));
    await back.loadBytes(await training.saveBytes());
    const values = await optimizerIn(back);
    expect(Object.keys(values)).toEqual(Object.keys(inF32));
    for (const [slot, { data }] of Object.entries(inF32)) {
      const got = (values[slot] as HostTensor<"f32">).data;
      const most = Math.max(...Array.from(data as Float32Array, Math.abs));
      for (const [index, value] of (data as Float32Array).entries()) {
        const off = Math.abs(value - (got[index] as number));
        expect(off, `${slot} ${index}`).toBeLessThanOrEqual(Math.max(Math.abs(value) / 16, most / 100));
      }
    }
    expect(values).not.toEqual(inF32);
    expect((await back.step(batch(3))).applied).toBe(true);
    // The values are those of the formats now, so that the way there changes nothing more.
    const again = await run(stored(format));
    await again.loadBytes(await training.saveBytes());
    expect(await optimizerIn(again)).toEqual(await optimizerIn(training));
  });
});

it.each(FORMATS)("a step whose second moments overflow is skipped with states %s", async (format) => {
  const training = await trainer({
    backend: await reference(),
    params: { w: wave([60, 70], 0.7) },
    loss: ({ w }, { x }: { readonly x: Tensor }) => reduceSum(mul(w, x)),
    optimizer: stored(format),
    precision: float32(),
  });
  const of = (value: number) => ({ x: tensor(Float32Array.of(value), []) });
  expect(await training.step(of(1e25))).toMatchObject({
    applied: false,
    gradNorm: expect.any(Number) as number,
  });
  expect((await training.step(of(1))).applied).toBe(true);
});

it("moments take half of the bytes of f32 in bf16, and 0.27 in u8 where they have 4 096 elements", async () => {
  const sizes = new Map<StateFormat, readonly [number, number]>();
  for (const format of ["f32", "bf16", "u8"] as const) {
    const slots = await optimizerIn(await run(stored(format)));
    sizes.set(format, [sizeOf(slots) - 8, sizeOf(slots, "/wide")]);
  }
  const [all, wide] = sizes.get("f32") as [number, number];
  expect((sizes.get("bf16")?.[0] ?? 0) - 8).toBeLessThanOrEqual(0.5 * all);
  expect(sizes.get("u8")?.[1]).toBeLessThanOrEqual(0.28 * wide);
});

it("slots have formats by name, and a size from which on they have them", async () => {
  const optimizer = adamW({ learningRate: 0.01, states: { mean: "u8", square: "bf16" }, minU8Elements: 1 });
  expect(optimizer.description).toBe(
    "adamW(learningRate 0.01, beta1 0.9, beta2 0.999, epsilon 1e-8, states {mean u8 square bf16}, minU8Elements 1, weightDecay 0.01)",
  );
  const types = Object.entries(await optimizerIn(await run(optimizer))).map(
    ([slot, { dtype }]) => `${slot} ${dtype}`,
  );
  expect(types.sort()).toEqual([
    "optimizer/mean.absmax/narrow f32",
    "optimizer/mean.absmax/wide f32",
    "optimizer/mean/bias f32",
    "optimizer/mean/narrow u8",
    "optimizer/mean/wide u8",
    "optimizer/square/bias f32",
    "optimizer/square/narrow bf16",
    "optimizer/square/wide bf16",
  ]);
});

it("names, formats and rounding are checked", () => {
  const made =
    (states: unknown): (() => unknown) =>
    () =>
      adamW({ learningRate: 1, states: states as "u8" });
  expect(made({ means: "u8" })).toThrow(/adamW: states: has no option "means"; did you mean mean\?/);
  expect(made({ mean: "u4" })).toThrow(/adamW: states.mean must be "f32" or "bf16" or .* got "u4"/);
  expect(made("fp8")).toThrow(/adamW: states must be .* got "fp8"/);
  expect(() => adamW({ learningRate: 1, rounding: "up" as "nearest" })).toThrow(
    /rounding must be "nearest" or "stochastic"/,
  );
});

/** AdamW as a user may write it, with its second moment in a dtype of its own, not scaled. */
function byHand(dtype: "f32" | "f16"): Optimizer {
  const plain = adamW({ learningRate: 0.01 });
  const inDtype = (state: TensorTree, to: "f32" | "f16"): TensorTree => {
    const { square, ...others } = state as Readonly<Record<string, TensorTree>>;
    return { ...others, square: mapTensors((v) => cast(v, to), square as TensorTree) };
  };
  return {
    ...plain,
    init: (parameters) => inDtype(plain.init(parameters), dtype),
    update: (gradients, state, parameters, context) => {
      const result = plain.update(gradients, inDtype(state, "f32") as never, parameters, context);
      return { ...result, state: inDtype(result.state, dtype) };
    },
  };
}

it("a state below the range of its dtype is warned of at the first step, once", async () => {
  const warningsOf = async (optimizer: Optimizer): Promise<readonly string[]> => {
    const training = await run(optimizer);
    for (let step = 0; step < 3; step++) await training.step(batch(step));
    return training.warnings.filter(({ type }) => type === "numerics").map(({ message }) => message);
  };
  expect(await warningsOf(byHand("f16"))).toEqual([
    expect.stringMatching(
      /^optimizer state square\/\w+ lies below the normal range of its dtype in \d+ % of/,
    ),
  ]);
  for (const quiet of [byHand("f32"), ...FORMATS.map((format) => stored(format))])
    expect(await warningsOf(quiet)).toEqual([]);
});

it("a state in f16 of an optimizer's own takes none from a file in f32, and gives none: it has no scales", async () => {
  const [wide, narrow] = [await run(byHand("f32")), await run(byHand("f16"))];
  for (const each of [wide, narrow]) await each.step(batch(0));
  for (const [to, from] of [
    [wide, narrow],
    [narrow, wide],
  ] as const) {
    await expect(to.loadBytes(await from.saveBytes())).rejects.toMatchObject({
      code: "MP_CHECKPOINT_MISMATCH",
      message: expect.stringContaining("optimizer/square/"),
    });
  }
});

it("a checkpoint names and types what is stored", async () => {
  const training = await run(stored("u8"));
  await training.step(batch(0));
  const types = Object.entries(await optimizerIn(training)).map(
    ([slot, { dtype, shape }]) => `${slot} ${dtype}[${shape.join()}]`,
  );
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

/** The planned peak of a step of AdamW on eight equal matrices, in bytes. */
async function plannedPeak(states: StateFormat): Promise<number> {
  const backend = await reference();
  const sizes = Array.from(
    { length: 8 },
    (_, layer) => [`layer${layer}`, wave([256, 256], 0.7 + layer)] as const,
  );
  await using training = await trainer({
    backend,
    params: Object.fromEntries(sizes),
    loss: (layers: Readonly<Record<string, Tensor>>, { x }: { readonly x: Tensor }) =>
      reduceMean(Object.values(layers).reduce((y, layer) => tanh(matMul(y, layer)), x)),
    optimizer: adamW({ learningRate: 0.01, states }),
    precision: float32(),
  });
  const graph = training.graph({ x: wave([2, 256], 0.37) });
  return planMemory(graph, { manifest: backend.manifest, precision: training.precision }).peak;
}

it("decodes and stores one tensor after the other, so that a step's peak is lower too", async () => {
  const whole = await plannedPeak("f32");
  for (const states of ["bf16", "f16", "f8e4m3", "u8"] as const)
    expect(await plannedPeak(states), states).toBeLessThan(0.85 * whole);
});
