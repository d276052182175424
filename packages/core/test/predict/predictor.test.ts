import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import {
  bfloat16,
  float32,
  full,
  type HostTensor,
  type key,
  mixed,
  mixedBfloat16,
  mixedFloat16,
  noMasterWeights,
  ops,
  predictor,
  sgd,
  type Tensor,
  tensor,
  trainer,
} from "../../src/index.js";

const params = {
  table: tensor(
    Float32Array.from({ length: 8 }, (_, at) => Math.sin(at) / 3),
    [4, 2],
  ),
  kernel: tensor(Float32Array.of(1.001, 2.003, -0.3, 0.7), [2, 2]),
  bias: tensor(Float32Array.of(0.1001, -0.2003)),
};
type Params = { readonly [K in keyof typeof params]: Tensor };
const modelState = { mean: tensor(Float32Array.of(0.5, 0.25)) };

const apply = (
  { table, kernel, bias }: Params,
  { ids }: { readonly ids: Tensor },
  context: { readonly training: boolean; readonly modelState: { readonly mean: Tensor } },
) => {
  if (context.training) throw new Error("in training");
  const rows = ops.gather(table, ids);
  return { logits: ops.sub(ops.add(ops.matMul(rows, kernel), bias), context.modelState.mean) };
};
const data = (...ids: readonly number[]) => ({ ids: tensor(Int32Array.from(ids)) });
const quiet = { onWarning: () => undefined };

const loss = (given: Params, batch: { readonly ids: Tensor }, context: Parameters<typeof apply>[2]) => ({
  loss: ops.reduceMean(ops.square(apply(given, batch, { ...context, training: false }).logits)),
  modelState: context.modelState,
});

const training = async (options: { readonly precision: ReturnType<typeof float32> }) =>
  trainer({
    backend: await reference(),
    params,
    modelState,
    loss,
    optimizer: sgd({ learningRate: 0.5 }),
    ema: { decay: 0.9 },
    ...quiet,
    ...options,
  });

describe("predictor", () => {
  it.each([float32(), mixedFloat16(), mixedBfloat16(), bfloat16()])(
    "gives what a trainer of $name predicts",
    async (precision) => {
      const run = await training({ precision });
      const backend = await reference();
      const serving = await predictor({ backend, model: apply, params, modelState, precision, ...quiet });
      const wanted = await run.predict(apply, data(3, 0, 1));
      expect(await serving.predict(data(3, 0, 1))).toEqual(wanted);
      expect(serving.precision.name).toBe(precision.name);
      await serving.dispose();
      await run.dispose();
    },
  );

  it("keeps matrices in the half, and vectors and statistics in f32", async () => {
    const backend = await reference();
    const dtypes = async (precision: ReturnType<typeof float32>) => {
      const serving = await predictor({ backend, model: apply, params, modelState, precision, ...quiet });
      const { inputs } = serving.graph(data(1));
      await serving.dispose();
      return Object.fromEntries(inputs.map(({ name, value }) => [name, value.dtype]));
    };
    const rest = { "state/frozen/bias": "f32", "state/model/mean": "f32", "data/ids": "i32" };
    expect(await dtypes(mixedFloat16())).toEqual({
      "state/frozen/kernel": "f16",
      "state/frozen/table": "f16",
      ...rest,
    });
    expect(await dtypes({ ...float32(), masterWeights: noMasterWeights("bf16") })).toMatchObject({
      "state/frozen/kernel": "bf16",
      "state/frozen/bias": "bf16",
    });
  });

  it("takes a layer, with its statistics or without", async () => {
    const backend = await reference();
    const stateful = {
      initState: () => modelState,
      apply: (...given: Parameters<typeof apply>) => [apply(...given).logits, { mean: 1 }] as const,
    };
    const layer = {
      apply: (given: Params, { ids }: { readonly ids: Tensor }) => ops.gather(given.table, ids),
    };
    const first = await predictor({ backend, model: stateful, params, modelState, precision: float32() });
    await expect(predictor({ backend, model: stateful, params })).rejects.toThrow(
      /predictor: the model has statistics; pass modelState/,
    );
    const second = await predictor({ backend, model: layer, params, precision: float32() });
    const logits: HostTensor = await first.predict(data(2));
    const rows: HostTensor = await second.predict(data(2));
    expect([logits.shape, rows.shape]).toEqual([
      [1, 2],
      [1, 2],
    ]);
    await first.dispose();
    await second.dispose();
  });

  it("reads a checkpoint, also its average", async () => {
    const run = await training({ precision: float32() });
    for (let step = 0; step < 3; step++) await run.step(data(0, 1, 2));
    const checkpoint = await run.saveBytes();
    const backend = await reference();
    const zeroed = { table: full([4, 2], 0), kernel: full([2, 2], 0), bias: full([2], 0) };
    for (const weights of ["current", "ema"] as const) {
      const serving = await predictor({
        backend,
        model: apply,
        params: zeroed,
        modelState,
        checkpoint,
        weights,
      });
      expect(await serving.predict(data(1, 3))).toEqual(await run.predict(apply, data(1, 3), { weights }));
      await serving.dispose();
    }
    await run.dispose();
  });

  it("queues calls, compiles once for each shape, and warns of many", async () => {
    let traces = 0;
    const warnings: string[] = [];
    const model: typeof apply = (...given) => {
      traces++;
      return apply(...given);
    };
    const serving = await predictor({
      backend: await reference(),
      model,
      params,
      modelState,
      precision: mixed(),
      onWarning: ({ message }) => warnings.push(message),
    });
    const all = [data(0), data(0, 1), data(1), data(2, 3), data(0, 1, 2)].map((each) =>
      serving.predict(each),
    );
    const late = serving.dispose();
    const rows = (await Promise.all(all)).map(({ logits }) => logits.shape[0]);
    await late;
    expect(rows).toEqual([1, 2, 1, 2, 3]);
    expect(traces).toBe(3);
    expect(warnings.join()).toContain("predict: a third distinct batch shape");
    expect(warnings.join()).toContain("mixed(): ");
    expect(warnings.join()).not.toMatch(/\btraining (runs|computes)/);
    expect(serving.warnings.map(({ message }) => message)).toEqual(warnings);
    await expect(serving.predict(data(0))).rejects.toThrow("the predictor was disposed");
  });

  it("keeps the programs of shapes that take turns", async () => {
    let traces = 0;
    const serving = await predictor({
      backend: await reference(),
      model: (...given: Parameters<typeof apply>) => {
        traces++;
        return apply(...given);
      },
      params,
      modelState,
      ...quiet,
    });
    for (const rows of [[0], [0, 1], [0], [0, 1, 2], [0, 1], [0]]) await serving.predict(data(...rows));
    expect(traces).toBe(3);
    await serving.dispose();
  });

  it("refuses what draws, what is no model, and numbers that the half does not hold", async () => {
    const backend = await reference();
    const start = (options: object) =>
      predictor({ backend, model: apply, params, modelState, precision: float32(), ...options } as never);
    const drawing = await start({
      model: (given: Params, _: unknown, context: { readonly key: ReturnType<typeof key> }) =>
        ops.add(given.bias, ops.randomUniform(context.key, [2])),
    });
    await expect(drawing.predict(data(0) as never)).rejects.toMatchObject({ code: "MP_UNSUPPORTED" });
    await drawing.dispose();
    await expect(start({ model: {} })).rejects.toThrow("predictor: model must be a layer, or a function");
    await expect(start({ loss })).rejects.toThrow("predictor: has no option");
    const large = { ...params, kernel: full([2, 2], 7e4) };
    await expect(start({ params: large, precision: mixedFloat16() })).rejects.toThrow(
      "predictor: params at kernel, kept in f16, is Infinity at element 0; mixed_float16 does not hold them",
    );
    await expect(start({ checkpoint: new Uint8Array(9) })).rejects.toMatchObject({ code: "MP_PARSE" });
  });

  it("tells what is missing among the parameters, and refuses a model that gives nothing", async () => {
    const backend = await reference();
    const x = tensor(Float32Array.of(1, 2), [1, 2]);
    const missing = await predictor({
      backend,
      params: {},
      model: (given: object, x: Tensor) => ops.matMul(x, (given as { kernel: Tensor }).kernel),
      ...quiet,
    });
    await expect(missing.predict(x)).rejects.toThrow(/got undefined(?!.*the data)/);
    const nothing = await predictor({ backend, params: { w: x }, model: () => ({}), ...quiet });
    await expect(nothing.predict(x)).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
  });
});
