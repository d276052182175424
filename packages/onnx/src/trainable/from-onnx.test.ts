import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { float32, mixed, mixedFloat16, ops, type PrecisionChoice, predictor, sgd, trainer } from "@mp/core";
import { type Graph, type HostTensor, key, type Tensor, tensor, traceInto } from "@mp/graph";
import { evaluate, reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { fixture } from "../../test/fixtures.js";
import { encodeModel } from "../encode.js";
import { float, int, ints, type OnnxGraph, type OnnxNode, onnxGraph, onnxModel, onnxNode } from "../model.js";
import {
  ModelProtoSchema,
  StringStringEntryProtoSchema,
  TensorProto_DataLocation,
} from "../proto/onnx_pb.js";
import { readGraph } from "../read/read.js";
import type { DataPlace } from "../read-external-data.js";
import { fromOnnx } from "./from-onnx.js";

const numbers = (count: number, shape: readonly number[]): HostTensor =>
  tensor(
    Float32Array.from({ length: count }, (_, at) => Math.sin(at + 1)),
    shape,
  );

/** x [batch, 3] → layer.0 → Relu "hidden" → layer.1, named as PyTorch's exporter does. */
function twoLayers(hidden: readonly OnnxNode[] = [onnxNode("Relu", ["sum"], ["hidden"])]): OnnxGraph {
  const scopes = (module: string) => ({
    metadata: { "pkg.torch.onnx.name_scopes": `['', 'layer', '${module}', 'linear']` },
  });
  return onnxGraph("two", {
    inputs: [{ name: "x", type: { elementType: "f32", shape: ["batch", 3] }, metadata: {} }],
    initializers: [
      { name: "layer.0.weight", tensor: numbers(12, [3, 4]) },
      { name: "layer.0.bias", tensor: numbers(4, [4]) },
      { name: "val_7", tensor: numbers(8, [4, 2]) },
    ],
    nodes: [
      onnxNode("MatMul", ["x", "layer.0.weight"], ["product"], scopes("layer.0")),
      onnxNode("Add", ["product", "layer.0.bias"], ["sum"], scopes("layer.0")),
      ...hidden,
      onnxNode("MatMul", ["hidden", "val_7"], ["y"], scopes("layer.1")),
    ],
    outputs: [{ name: "y", metadata: {} }],
  });
}

/** A BatchNormalization of x [batch, 2, 2] with running statistics. */
const normalized = (training: number): OnnxGraph =>
  onnxGraph("norm", {
    inputs: [{ name: "x", type: { elementType: "f32", shape: ["batch", 2, 2] }, metadata: {} }],
    initializers: [
      { name: "bn.weight", tensor: tensor(Float32Array.of(1, 2)) },
      { name: "bn.bias", tensor: tensor(Float32Array.of(0, 1)) },
      { name: "bn.running_mean", tensor: tensor(Float32Array.of(0.5, -0.5)) },
      { name: "bn.running_var", tensor: tensor(Float32Array.of(4, 9)) },
    ],
    nodes: [
      onnxNode(
        "BatchNormalization",
        ["x", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"],
        training === 1 ? ["y", "mean", "variance"] : ["y"],
        { attributes: { momentum: float(0.9), epsilon: float(0), training_mode: int(training) } },
      ),
    ],
    outputs: [{ name: "y", metadata: {} }],
  });

const read = (graph: OnnxGraph, options = {}) => fromOnnx(encodeModel(onnxModel(graph)), options);

async function training(
  model: Awaited<ReturnType<typeof read>>,
  precision: PrecisionChoice = mixed(),
  input = "x",
) {
  return trainer({
    backend: await reference(),
    params: model.init(),
    modelState: model.initState(),
    loss: (params, batch: { readonly x: Tensor }, context) => {
      const [outputs, modelState] = model.apply(params, { [input]: batch.x }, context);
      const [y] = Object.values(outputs);
      return { loss: ops.reduceMean(ops.square(y as Tensor)), modelState };
    },
    optimizer: sgd({ learningRate: 0.1 }),
    precision,
    onWarning: () => undefined,
  });
}

describe("parameters", () => {
  it("nest by their names; one that has a number for a name nests by the layer that reads it", async () => {
    const model = await read(twoLayers());
    expect(model.paths).toEqual({
      "layer.0.weight": "layer/0/weight",
      "layer.0.bias": "layer/0/bias",
      val_7: "layer/1/val_7",
    });
    expect(model.init()).toEqual({
      layer: {
        0: { weight: numbers(12, [3, 4]), bias: numbers(4, [4]) },
        1: { val_7: numbers(8, [4, 2]) },
      },
    });
    expect(model.initState()).toEqual({});
  });

  it("may have other names, and two of one name are refused", async () => {
    const model = await read(twoLayers(), { rename: (name: string) => (name === "val_7" ? "head" : name) });
    expect(model.paths["val_7"]).toBe("head");
    const clashing = await read(twoLayers(), { rename: () => "w" });
    expect(() => clashing.init()).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
  });

  it.each([
    [() => 3 as never, /"layer.0.weight" needs a name with more than dots and slashes, got number/],
    [() => "./", /"layer.0.weight" needs a name with more than dots and slashes, got "\.\/"/],
  ])("need names, case %#", async (rename, message) => {
    const reading = read(twoLayers(), { rename });
    await expect(reading).rejects.toThrow(message);
    await expect(reading).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
  });

  it("of half precision are f32 outside", async () => {
    const graph = twoLayers();
    const half = { dtype: "f16", shape: [4], data: Uint16Array.of(0x3c00, 0x4000, 0xc000, 0) } as HostTensor;
    const initializers = graph.initializers.map((each) =>
      each.name === "layer.0.bias" ? { ...each, tensor: half } : each,
    );
    const model = await read({
      ...graph,
      initializers,
      nodes: [
        onnxNode("Cast", ["layer.0.bias"], ["wide"], { attributes: { to: int(1) } }),
        ...graph.nodes.map((node) => ({
          ...node,
          inputs: node.inputs.map((name) => (name === "layer.0.bias" ? "wide" : name)),
        })),
      ],
    });
    const tree = model.init() as { layer: { 0: { bias: HostTensor } } };
    expect(tree.layer[0].bias).toEqual(tensor(Float32Array.of(1, 2, -2, 0)));
    const run = await training(model);
    expect((await run.step({ x: numbers(6, [2, 3]) })).applied).toBe(true);
    await run.dispose();
  });
});

describe("apply", () => {
  it("takes any size that the file leaves open, and scopes its nodes by layer", async () => {
    const model = await read(twoLayers());
    const run = await training(model);
    const before = (await run.step({ x: numbers(6, [2, 3]) })).loss;
    await run.step({ x: numbers(15, [5, 3]) });
    expect((await run.step({ x: numbers(6, [2, 3]) })).loss).toBeLessThan(before);
    const scopes = new Set(run.graph({ x: numbers(6, [2, 3]) }).nodes.map(({ origin }) => origin.scope));
    expect([...scopes]).toEqual(expect.arrayContaining(["layer/0", "layer/1"]));
    await run.dispose();
  });

  it.each(["constructor", "__proto__", "toString"])("takes an open size that is named %s", async (size) => {
    const graph = twoLayers();
    const type = { elementType: "f32", shape: [size, 3] } as const;
    const outputs = [{ name: "y", type: { elementType: "f32", shape: [size, 2] } as const, metadata: {} }];
    const model = await read({ ...graph, inputs: [{ name: "x", type, metadata: {} }], outputs });
    const run = await training(model);
    expect((await run.step({ x: numbers(6, [2, 3]) })).applied).toBe(true);
    await run.dispose();
  });

  it.each([3, null, undefined, "x"])("refuses %j as an input", async (given) => {
    const model = await read(twoLayers());
    const call = () => traceInto([], () => model.apply(model.init() as never, { x: given as never })[0]["y"]);
    expect(call).toThrow(
      expect.objectContaining({ code: "MP_INVALID_ARGUMENT", message: 'fromOnnx: input "x" is no tensor' }),
    );
  });

  it("leaves out casts to the dtype that a value has, which a policy would take for the user's", async () => {
    const to = { attributes: { to: int(1) } };
    const hidden = [onnxNode("Relu", ["sum"], ["relu"]), onnxNode("Cast", ["relu"], ["hidden"], to)];
    const [model, plain] = [await read(twoLayers(hidden)), await read(twoLayers())];
    const [run, without] = [await training(model, mixedFloat16()), await training(plain, mixedFloat16())];
    const x = numbers(6, [2, 3]);
    const casts = ({ nodes }: Graph): number => nodes.filter(({ op }) => op === "Cast").length;
    expect(casts(run.graph({ x }))).toBe(casts(without.graph({ x })));
    expect(run.explain({ x }).lints).toEqual([]);
    await Promise.all([run.dispose(), without.dispose()]);
  });

  it("refuses parameters that are no tensors", async () => {
    const model = await read(twoLayers());
    const types = [{ name: "x", role: "batch", type: { dtype: "f32", shape: [2, 3] } }] as const;
    const params = { layer: { 0: { weight: 3, bias: 3 }, 1: { val_7: 3 } } };
    const call = () => traceInto(types, ([x]) => model.apply(params as never, x as Tensor)[0]);
    expect(call).toThrow(/"layer.0.weight" is no tensor/);
  });

  it("gives values inside the model, whose head is then not read", async () => {
    const graph = twoLayers();
    const nodes = graph.nodes.map((node) =>
      node.outputs[0] === "y" ? { ...node, opType: "Unknown" } : node,
    );
    const model = await read({ ...graph, nodes }, { outputs: ["hidden"] });
    expect(model.outputs).toEqual(["hidden"]);
    expect(Object.keys(model.paths)).toEqual(["layer.0.weight", "layer.0.bias"]);
    const run = await training(model);
    const hidden = await run.predict((params, x: Tensor) => model.apply(params, x)[0], numbers(3, [1, 3]));
    expect(hidden.shape).toEqual([1, 4]);
    await run.dispose();
  });

  it.each<readonly [string, (model: Awaited<ReturnType<typeof read>>, x: Tensor) => unknown, string, string]>(
    [
      [
        "another shape",
        (model, x) => model.apply({}, { x: ops.transpose(x) }),
        "MP_SHAPE_MISMATCH",
        '"x" must be [batch, 3], got [3, 2]',
      ],
      ["an unknown input", (model, x) => model.apply({}, { x, z: x }), "MP_INVALID_ARGUMENT", 'no input "z"'],
      ["a missing input", (model) => model.apply({}, {}), "MP_INVALID_ARGUMENT", 'input "x" is missing'],
      [
        "another tree",
        (model, x) => model.apply({}, { x }),
        "MP_INVALID_ARGUMENT",
        '"layer/0/weight" is missing',
      ],
      [
        "integers",
        (model, x) => model.apply({}, { x: ops.cast(x, "i32") }),
        "MP_DTYPE_MISMATCH",
        '"x" must be f32, got i32',
      ],
    ],
  )("refuses %s", async (_, call, code, message) => {
    const model = await read(twoLayers());
    const run = () =>
      traceInto([{ name: "x", role: "batch", type: { dtype: "f32", shape: [2, 3] } }], ([x]) => {
        call(model, x as Tensor);
        return {};
      });
    expect(run).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }));
  });

  it("takes i32 for what the file has as i64", async () => {
    const graph = onnxGraph("tokens", {
      inputs: [{ name: "tokens", type: { elementType: "i64", shape: ["batch"] }, metadata: {} }],
      initializers: [
        { name: "table", tensor: tensor(Float32Array.of(1, -3, 2, 7, 0.5, 1, 4, -2, 9), [3, 3]) },
      ],
      nodes: [onnxNode("Gather", ["table", "tokens"], ["y"])],
      outputs: [{ name: "y", metadata: {} }],
    });
    const model = await read(graph);
    const run = await training(model, mixed(), "tokens");
    const x = tensor(Int32Array.of(2, 0));
    const first = (await run.step({ x })).loss;
    expect((await run.step({ x })).loss).toBeLessThan(first);
    const types = [
      { name: "table", role: "parameter", type: { dtype: "f32", shape: [3, 3] } },
      { name: "tokens", role: "batch", type: { dtype: "i32", shape: [2] } },
    ] as const;
    const { graph: traced } = traceInto(
      types,
      ([table, tokens]) => model.apply({ table: table as Tensor }, tokens as Tensor)[0],
    );
    expect(traced.nodes.map(({ op }) => op)).toEqual(["Gather"]);
    await run.dispose();
  });
});

describe("normalization by running statistics", () => {
  const x = tensor(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8), [2, 2, 2]);

  it.each([0, 1])(
    "uses the batch's in training and follows them, exported with training_mode %d",
    async (mode) => {
      const model = await read(normalized(mode));
      expect(model.initState()).toEqual({
        bn: { running_mean: tensor(Float32Array.of(0.5, -0.5)), running_var: tensor(Float32Array.of(4, 9)) },
      });
      const run = await training(model);
      await run.step({ x });
      const { bn } = (await run.modelState()) as { bn: Record<string, HostTensor> };
      // Means 3.5 and 5.5; sums of squared differences 17 and 17, over 3 of 4 elements.
      const close = (name: string, values: readonly number[]) =>
        expect(Array.from(bn[name]?.data as Float32Array)).toEqual(
          values.map((value) => expect.closeTo(value, 5)),
        );
      close("running_mean", [0.9 * 0.5 + 0.35, -0.45 + 0.55]);
      close("running_var", [3.6 + 0.1 * (17 / 3), 8.1 + 0.1 * (17 / 3)]);
      await run.dispose();
    },
  );

  it("uses the running ones in evaluation, and always where the option says so", async () => {
    for (const [options, isFixed] of [
      [{}, false],
      [{ batchStatistics: false }, true],
    ] as const) {
      const model = await read(normalized(0), options);
      const run = await training(model);
      const y = await run.predict(
        (params, given: Tensor, context) => model.apply(params, given, context)[0],
        x,
      );
      const data = Array.from(y.data as Float32Array);
      expect(data.slice(0, 2)).toEqual([0.25, 0.75]);
      expect(data[2]).toBeCloseTo((3.5 / 3) * 2 + 1, 5);
      expect(Object.keys(model.initState())).toEqual(isFixed ? [] : ["bn"]);
      await run.dispose();
    }
  });

  it("asks for its statistics", async () => {
    const model = await read(normalized(0));
    const run = trainer({
      backend: await reference(),
      params: model.init(),
      loss: (params, { x: given }: { x: Tensor }) => ops.reduceMean(model.apply(params, given)[0]),
      optimizer: sgd({ learningRate: 0.1 }),
    }).then((made) => made.step({ x }));
    await expect(run).rejects.toMatchObject({
      code: "MP_INVALID_ARGUMENT",
      message: expect.stringContaining("bn/running_mean"),
    });
  });
});

describe("dropout", () => {
  const dropped = twoLayers([
    onnxNode("Relu", ["sum"], ["active"]),
    onnxNode("Dropout", ["active", "ratio"], ["hidden"]),
  ]);
  const graph = {
    ...dropped,
    initializers: [...dropped.initializers, { name: "ratio", tensor: tensor(Float32Array.of(0.5), []) }],
  };
  const x = numbers(600, [200, 3]);

  it.each([
    ["a node of the file", graph, {}],
    ["where the option says so", twoLayers(), { dropout: { hidden: 0.5 } }],
  ])("of %s acts in training alone, on about its share", async (_, of, options) => {
    const model = await read(of, { ...options, outputs: ["y"] });
    const plain = await read(twoLayers());
    const both = await trainer({
      backend: await reference(),
      params: model.init(),
      loss: (params, batch: { x: Tensor }, context) => {
        const y = model.apply(params, batch.x, context)[0];
        const whole = plain.apply(params, batch.x)[0];
        const sum = (t: Tensor) => ops.reduceSum(ops.slice(t, [{ axis: 1, start: 0, end: 1 }]));
        return { loss: ops.reduceMean(y), metrics: { dropped: sum(y), whole: sum(whole) } };
      },
      optimizer: sgd({ learningRate: 0 }),
      onWarning: () => undefined,
    });
    const first = (await both.step({ x })).metrics;
    const second = (await both.step({ x })).metrics;
    expect(first.dropped).not.toBe(first.whole);
    expect(second.dropped).not.toBe(first.dropped);
    const evaluated = (await both.evaluate({ x })).metrics;
    expect(evaluated["dropped"]).toBeCloseTo(evaluated["whole"] as number, 3);
    await both.dispose();
  });

  it.each([
    [{ nowhere: 0.5 }, 'no node makes the value "nowhere"'],
    [{ hidden: 1 }, "at least 0 and below 1"],
    [{ y: 0.5 }, "is an output"],
  ])("refuses %j", async (dropout, message) => {
    await expect(read(twoLayers(), { dropout })).rejects.toMatchObject({
      code: "MP_INVALID_ARGUMENT",
      message: expect.stringContaining(message),
    });
  });
});

describe("random numbers of a file", () => {
  const noisy = (opType: string, attributes: OnnxNode["attributes"]): OnnxGraph =>
    onnxGraph("noisy", {
      inputs: [{ name: "x", type: { elementType: "f32", shape: ["batch", 3] }, metadata: {} }],
      initializers: [{ name: "scale", tensor: numbers(3, [3]) }],
      nodes: [
        onnxNode(opType, opType.endsWith("Like") ? ["x"] : [], ["noise"], { attributes }),
        onnxNode("Mul", ["x", "scale"], ["scaled"]),
        onnxNode("Add", ["scaled", "noise"], ["y"]),
      ],
      outputs: [{ name: "y", metadata: {} }],
    });
  const x = tensor(new Float32Array(6_000), [2_000, 3]);

  it.each([
    ["RandomNormalLike", {}, 0, 1],
    ["RandomNormalLike", { mean: float(3), scale: float(0.5), seed: float(7) }, 3, 0.5],
    ["RandomNormal", { shape: ints([2_000, 3]), mean: float(-1) }, -1, 1],
    ["RandomUniformLike", { dtype: int(1) }, 0.5, Math.sqrt(1 / 12)],
    ["RandomUniform", { shape: ints([2_000, 3]), low: float(-2), high: float(4) }, 1, Math.sqrt(3)],
  ])(
    "of %s, kind %#, are drawn again in each step, in training and evaluation",
    async (opType, attributes, mean, deviation) => {
      const model = await read(noisy(opType, attributes));
      await using training = await trainer({
        backend: await reference(),
        params: model.init(),
        loss: (params, batch: { x: Tensor }, context) => {
          const y = model.apply(params, batch.x, context)[0] as Tensor;
          const center = ops.reduceMean(y);
          return { loss: center, metrics: { variance: ops.reduceMean(ops.square(ops.sub(y, center))) } };
        },
        optimizer: sgd({ learningRate: 0 }),
        onWarning: () => undefined,
      });
      const [first, second] = [await training.step({ x }), await training.step({ x })];
      const evaluated = await training.evaluate({ x });
      expect(new Set([first.loss, second.loss]).size).toBe(2);
      for (const { loss, metrics } of [first, second, evaluated]) {
        expect(Math.abs(loss - mean)).toBeLessThan((4 * deviation) / Math.sqrt(6_000));
        expect(Math.sqrt(metrics["variance"] as number) / deviation).toBeCloseTo(1, 1);
      }
    },
  );

  it("are the same in every run of a graph", () => {
    const { graph } = readGraph(onnxModel(noisy("RandomNormalLike", {})), {
      sizes: { batch: 2_000 },
      isParameter: () => false,
    });
    const first = evaluate(graph, { x })["y"] as HostTensor;
    expect(new Set(first.data as Float32Array).size).toBeGreaterThan(5_900);
    expect(evaluate(graph, { x })["y"]).toEqual(first);
  });

  it("need the context of a loss", async () => {
    const model = await read(noisy("RandomNormalLike", {}));
    expect(() =>
      traceInto([{ name: "x", role: "batch", type: x }], ([given]) => ({
        y: model.apply(model.init() as never, given as Tensor)[0] as Tensor,
      })),
    ).toThrow(/"noise\/normal" is random, so apply must get the loss's context/);
  });
});

describe("fromOnnx", () => {
  it("is served: a model of one input and one output takes a tensor and gives one", async () => {
    const model = await read(twoLayers());
    await using serving = await predictor({
      backend: await reference(),
      model,
      params: model.init(),
      precision: float32(),
    });
    const { shape } = await serving.predict(numbers(6, [2, 3]));
    expect(shape).toEqual([2, 2]);
  });

  it.each<readonly [unknown, object, string, string]>([
    [7, {}, "MP_INVALID_ARGUMENT", "takes the path of a file or its bytes"],
    ["/nowhere/model.onnx", {}, "MP_IO", "ENOENT"],
    [
      fixture("mlp"),
      { outputs: ["nothing"] },
      "MP_INVALID_ARGUMENT",
      'no value "nothing"; its last values are "',
    ],
    [fixture("mlp"), { output: ["y"] }, "MP_INVALID_ARGUMENT", "did you mean outputs"],
    [Uint8Array.of(1, 2, 3), {}, "MP_PARSE", "onnx"],
  ])("refuses %s with %j", async (given, options, code, message) => {
    await expect(fromOnnx(given as string, options)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  });

  /** Two layers; the first weight lies in `weights.bin`, from byte 4. */
  const beside = (): { readonly model: Uint8Array; readonly weights: Uint8Array } => {
    const proto = fromBinary(ModelProtoSchema, encodeModel(onnxModel(twoLayers())));
    const [first] = proto.graph?.initializer ?? [];
    if (first === undefined) throw new Error("no initializer");
    const weights = new Uint8Array([1, 2, 3, 4, ...first.rawData, 5]);
    first.externalData = Object.entries({ location: "weights.bin", offset: "4", length: "48" }).map(
      ([key, value]) => create(StringStringEntryProtoSchema, { key, value }),
    );
    first.rawData = new Uint8Array();
    first.dataLocation = TensorProto_DataLocation.EXTERNAL;
    return { model: toBinary(ModelProtoSchema, proto), weights };
  };

  it("reads the data beside a model", async () => {
    const folder = await mkdtemp(join(tmpdir(), "mp-onnx-"));
    try {
      const { model, weights } = beside();
      await writeFile(join(folder, "model.onnx"), model);
      await writeFile(join(folder, "weights.bin"), weights);
      const expected = (await read(twoLayers())).init();
      expect((await fromOnnx(join(folder, "model.onnx"))).init()).toEqual(expected);
      const externalData = ({ offset, length = 0 }: DataPlace) => weights.subarray(offset, offset + length);
      expect((await fromOnnx(model, { externalData })).init()).toEqual(expected);
      await writeFile(join(folder, "weights.bin"), weights.subarray(0, 20));
      await expect(fromOnnx(join(folder, "model.onnx"))).rejects.toMatchObject({ code: "MP_PARSE" });
      await rm(join(folder, "weights.bin"));
      await expect(fromOnnx(join(folder, "model.onnx"))).rejects.toMatchObject({ code: "MP_IO" });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("opens no pipes, which would be waited for without end", async () => {
    const folder = await mkdtemp(join(tmpdir(), "mp-onnx-"));
    try {
      const { model } = beside();
      await writeFile(join(folder, "model.onnx"), model);
      execFileSync("mkfifo", [join(folder, "weights.bin")]);
      const refusal = { code: "MP_IO", details: { path: join(folder, "weights.bin"), errno: "ENOTREG" } };
      await expect(fromOnnx(join(folder, "model.onnx"))).rejects.toMatchObject(refusal);
      await expect(fromOnnx(join(folder, "weights.bin"))).rejects.toMatchObject(refusal);
      await expect(fromOnnx(folder)).rejects.toMatchObject({ details: { errno: "EISDIR" } });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("follows links beside the model, and of a cache that has both, but none out of its folder", async () => {
    const folder = await mkdtemp(join(tmpdir(), "mp-onnx-"));
    try {
      const { model, weights } = beside();
      const [cache, place] = [join(folder, "blobs"), join(folder, "snapshot")];
      await Promise.all([mkdir(cache), mkdir(place)]);
      await writeFile(join(cache, "a"), model);
      await writeFile(join(cache, "b"), weights);
      await symlink("../blobs/b", join(place, "weights.bin"));
      await writeFile(join(place, "model.onnx"), model);
      await expect(fromOnnx(join(place, "model.onnx"))).rejects.toMatchObject({
        code: "MP_PARSE",
        message: expect.stringContaining("a link out of the model's folder") as string,
      });
      await rm(join(place, "model.onnx"));
      await symlink("../blobs/a", join(place, "model.onnx"));
      const expected = (await read(twoLayers())).init();
      expect((await fromOnnx(join(place, "model.onnx"))).init()).toEqual(expected);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it.each([
    [undefined, "undefined"],
    [Promise.resolve(new Uint8Array(4)), "a promise"],
    [new Float32Array(4), "Float32Array"],
  ])("takes the bytes themselves, case %#", async (data, got) => {
    const externalData = () => data as never;
    await expect(fromOnnx(beside().model, { externalData })).rejects.toMatchObject({
      code: "MP_INVALID_ARGUMENT",
      message: expect.stringMatching(new RegExp(`as a Uint8Array, got ${got}$`)) as string,
    });
  });

  it("asks for nothing outside the model's folder", async () => {
    const places: DataPlace[] = [];
    const externalData = (place: DataPlace) => {
      places.push(place);
      return new Uint8Array();
    };
    await expect(fromOnnx(fixture("external-data"), { externalData })).rejects.toMatchObject({
      code: "MP_PARSE",
      message: expect.stringContaining("not below the model's folder"),
    });
    expect(places).toEqual([]);
  });
});

it("keeps the key out of what init gives", async () => {
  const model = await read(twoLayers());
  expect(model.init(key(1))).toEqual(model.init(key(2)));
});

it("tells the axis of the outputs of each weight, as its operator reads it", async () => {
  const weights = {
    table: [7, 3],
    gemm: [4, 3],
    gemmUnturned: [4, 5],
    matMul: [5, 6],
    turned: [2, 6],
    conv: [2, 1, 1],
    convTranspose: [2, 3, 1],
  };
  const model = await read(
    onnxGraph("axes", {
      inputs: [{ name: "ids", type: { elementType: "i32", shape: [2] }, metadata: {} }],
      initializers: Object.entries(weights).map(([name, shape]) => ({
        name: `${name}.weight`,
        tensor: tensor(
          Float32Array.from(
            { length: shape.reduce((product, size) => product * size) },
            (_, at) => (at * 0.37) % 1,
          ),
          shape,
        ),
      })),
      nodes: [
        onnxNode("Gather", ["table.weight", "ids"], ["a"]),
        onnxNode("Gemm", ["a", "gemm.weight"], ["b"], { attributes: { transB: int(1) } }),
        onnxNode("Gemm", ["b", "gemmUnturned.weight"], ["c"]),
        onnxNode("MatMul", ["c", "matMul.weight"], ["d"]),
        onnxNode("Transpose", ["turned.weight"], ["t"], { attributes: { perm: ints([1, 0]) } }),
        onnxNode("MatMul", ["d", "t"], ["e"]),
        onnxNode("Reshape", ["e", "shape"], ["f"]),
        onnxNode("Conv", ["f", "conv.weight"], ["g"]),
        onnxNode("ConvTranspose", ["g", "convTranspose.weight"], ["y"]),
        onnxNode("Constant", [], ["shape"], { attributes: { value_ints: ints([2, 1, 2]) } }),
      ].toSorted((a, b) => Number(b.opType === "Constant") - Number(a.opType === "Constant")),
      outputs: [{ name: "y", metadata: {} }],
    }),
  );
  const axes = Object.entries(weights).map(([name, shape]) => [
    name,
    model.outputAxis(`${name}/weight`, { shape }),
  ]);
  expect(Object.fromEntries(axes)).toEqual({
    table: 1,
    gemm: 0,
    gemmUnturned: 1,
    matMul: 1,
    turned: 0,
    conv: 0,
    convTranspose: 1,
  });
  expect(model.outputAxis("other", { shape: [2, 3] })).toBeUndefined();
});
