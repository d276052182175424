// Tests that invalid files, and paths that lead out of the model's folder, are refused.
import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type ErrorCode, type HostTensor, tensor } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { outputsOf, temporaryFolder } from "../test/saved.js";
import type { TfjsModel } from "./index.js";
import { fromTfjs } from "./read/from-tfjs.js";

type Json = Readonly<Record<string, unknown>>;

const layer = (className: string, config: Json, more: Json = {}): Json => ({
  class_name: className,
  config: { name: className.toLowerCase(), ...config },
  ...more,
});
const sequential = (...layers: readonly Json[]): Json => ({
  class_name: "Sequential",
  config: { name: "s", layers },
});
const dense = layer("Dense", { units: 2, batch_input_shape: [null, 2] });
const weight = (name: string, more: Json = {}): Json => ({ name, shape: [2], dtype: "float32", ...more });
const bytes = (...numbers: readonly number[]): Uint8Array =>
  new Uint8Array(Float32Array.from(numbers).buffer);

/** Reads a model with this JSON and these bytes. */
async function read(
  modelTopology: unknown,
  weights: readonly Json[] = [],
  data: Uint8Array = new Uint8Array(0),
  more: Json = {},
): Promise<TfjsModel> {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "deep", "model.json");
  await mkdir(dirname(path));
  await writeFile(join(folder.path, "secret.bin"), data);
  await symlink("../secret.bin", join(folder.path, "deep", "link.bin"));
  await writeFile(join(folder.path, "deep", "w.bin"), data);
  const weightsManifest = [{ paths: ["w.bin"], weights }];
  await writeFile(path, JSON.stringify({ modelTopology, weightsManifest, ...more }));
  return await fromTfjs(path);
}

async function expectRefusal(reading: Promise<unknown>, code: ErrorCode, message: RegExp): Promise<void> {
  const failure = await reading.catch((error: unknown) => error);
  expect(failure).toMatchObject({ code });
  expect(String(failure)).toMatch(message);
}

describe("what is not read", () => {
  it.each([
    ["Lambda", {}, /Lambda "lambda": its function is code.*fromOnnx/],
    ["Masking", {}, /masks of time steps/],
    ["MyLayer", {}, /MyLayer "mylayer": layers of this kind/],
    ["constructor", {}, /layers of this kind/],
    ["Embedding", { mask_zero: true }, /mask_zero: true is not read/],
    ["Dense", { units: 2, activation: "mine" }, /the activation "mine"/],
    ["LSTM", { units: 2, stateful: true }, /stateful/],
    ["UpSampling2D", { interpolation: "bilinear" }, /interpolation: "bilinear"/],
    ["Dropout", { rate: 0.5, noise_shape: [1, 2] }, /noise_shape/],
    ["Conv2D", { kernel_size: 2, padding: "reflect" }, /padding: "reflect"/],
  ])("%s names the layer", async (className, config, message) => {
    await expectRefusal(read(sequential(layer(className, config))), "MP_UNSUPPORTED", message);
  });

  it("a GraphModel, with what to do instead", async () => {
    await expectRefusal(
      read({}, [], bytes(), { format: "graph-model" }),
      "MP_UNSUPPORTED",
      /tfjs_layers_model/,
    );
    await expectRefusal(read({ node: [] }), "MP_UNSUPPORTED", /GraphModel/);
  });

  it.each([
    [sequential(), /no list of layers/],
    [{ class_name: "Dense", config: { units: 1 } }, /is a layer instead of a model/],
    [sequential(layer("Conv2D", { kernel_size: [1, "a"] })), /kernel_size is \[1,"a"\]/],
    [sequential({ class_name: "Dense" }), /no class_name or config/],
    [
      sequential(layer("Bidirectional", { layer: { class_name: "LSTM" } })),
      /inside Bidirectional .* no config/,
    ],
    [
      sequential(
        layer("Bidirectional", {
          layer: layer("LSTM", { units: 2 }),
          backward_layer: { class_name: "LSTM" },
        }),
      ),
      /inside Bidirectional .* no config/,
    ],
    [
      sequential(layer("Activation", { activation: "relu" }), layer("Activation", { activation: "tanh" })),
      /two layers named "activation"/,
    ],
    [
      {
        class_name: "Model",
        config: {
          name: "m",
          layers: [
            layer("Add", { name: "a" }, { inbound_nodes: [[["b", 0, 0, {}]]] }),
            layer("Add", { name: "b" }, { inbound_nodes: [[["a", 0, 0, {}]]] }),
          ],
          input_layers: [["x", 0, 0]],
          output_layers: [["a", 0, 0]],
        },
      },
      /needs its own output/,
    ],
    [undefined, /no modelTopology/],
  ])("a malformed one, %#", async (topology, message) => {
    await expectRefusal(read(topology), "MP_PARSE", message);
  });

  it.each([
    ["model.keras", "{}"],
    ["model.h5", "{}"],
    ["zip", "PK\x03\x04\x14"],
    ["hdf", Buffer.from([0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a])],
  ])("a file of Keras, %s, with the lines that convert it", async (name, content) => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, name);
    await expectRefusal(fromTfjs(path), "MP_IO", /ENOENT/);
    await writeFile(path, content);
    await expectRefusal(
      fromTfjs(path),
      "MP_UNSUPPORTED",
      /is a file of Keras, not a model\.json; [\s\S]*load_model\([\s\S]*save_keras_model\(model, "model"\)/,
    );
  });

  it("one that is nested without end", async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "model.json");
    const depth = 20_000;
    const open = '{"class_name":"Sequential","config":{"name":"s","layers":[';
    await writeFile(path, `{"modelTopology":${open.repeat(depth)}${"]}}".repeat(depth)}}`);
    await expectRefusal(fromTfjs(path), "MP_PARSE", /nested too deeply|no list of layers|not JSON/);
    const wrapper = '{"class_name":"TimeDistributed","config":{"name":"t","layer":';
    const inside = `${wrapper.repeat(1500)}${JSON.stringify(dense)}${"}}".repeat(1500)}`;
    await writeFile(path, `{"modelTopology":${open}${inside}]}},"weightsManifest":[]}`);
    await expectRefusal(fromTfjs(path), "MP_PARSE", /nested too deeply/);
    await writeFile(path, "{");
    await expectRefusal(fromTfjs(path), "MP_PARSE", /not JSON/);
    await truncate(path, 700 * 2 ** 20);
    await expectRefusal(fromTfjs(path), "MP_PARSE", /which no model's JSON has/);
    await expectRefusal(fromTfjs(join(folder.path, "none")), "MP_IO", /ENOENT/);
    await expectRefusal(fromTfjs(folder.path), "MP_IO", /EISDIR/);
    await expectRefusal(fromTfjs(3 as never), "MP_INVALID_ARGUMENT", /a path/);
  });
});

describe("weights", () => {
  const model = sequential(dense);
  const kernel = weight("dense/kernel", { shape: [2, 2] });
  const all = bytes(1, 2, 3, 4, 5, 6);

  it.each([
    "../secret.bin",
    "link.bin",
    "/etc/passwd",
    "a/../../secret.bin",
    "..\\secret.bin",
    "file:secret.bin",
    "",
  ])("in %j are not looked for", async (path) => {
    const weightsManifest = [{ paths: [path], weights: [kernel, weight("dense/bias")] }];
    await expectRefusal(
      read(model, [], all, { weightsManifest }),
      "MP_PARSE",
      /beside the model|out of the model's folder/,
    );
  });

  it.each([
    [[kernel], all, /8 bytes of the weights' files belong to no weight/],
    [[kernel, weight("dense/bias", { shape: [3] })], all, /end before the weight "dense\/bias"/],
    [[kernel, weight("dense/other")], all, /no weight for "dense\/bias"/],
    [[kernel, weight("x/dense/bias"), weight("y/dense/bias")], bytes(1, 2, 3, 4, 5, 6, 7, 8), /may both be/],
    [
      [kernel, weight("dense/bias"), weight("dense/m")],
      bytes(1, 2, 3, 4, 5, 6, 7, 8),
      /no layer takes the weight "dense\/m"/,
    ],
    [[kernel, weight("dense/bias", { dtype: "string" })], all, /is string/],
    [[weight("dense/kernel", { shape: [-1] })], all, /no name or shape/],
  ])("that do not fit, %#", async (weights, data, message) => {
    await expectRefusal(read(model, weights as readonly Json[], data), "MP_PARSE", message);
  });

  it("named many times, or far larger than they say, are not read", async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "model.json");
    const weights = [kernel, weight("dense/bias")];
    const write = (paths: readonly string[]) =>
      writeFile(path, JSON.stringify({ modelTopology: model, weightsManifest: [{ paths, weights }] }));
    await writeFile(join(folder.path, "w.bin"), all);
    await write(new Array(100_000).fill("w.bin"));
    await expectRefusal(fromTfjs(path), "MP_PARSE", /"w.bin" is named twice/);
    await write(["w.bin"]);
    await truncate(join(folder.path, "w.bin"), 2 ** 40);
    await expectRefusal(fromTfjs(path), "MP_PARSE", /bytes of the weights' files belong to no weight/);
  });

  it("that the converter numbered are refused with what to do", async () => {
    await expectRefusal(
      read(model, [weight("layers/dense/vars/0", { shape: [2, 2] }), weight("layers/dense/vars/1")], all),
      "MP_UNSUPPORTED",
      /numbered.*save the model as \.h5/,
    );
  });

  it("quantized ones are decoded, the optimizer's left out", async () => {
    const halves = new Uint8Array(Uint16Array.of(0x3c00, 0xc000).buffer);
    const data = new Uint8Array([0, 1, 2, 255, ...halves, 9, 9, 9, 9]);
    const found = await read(
      model,
      [
        { ...kernel, quantization: { dtype: "uint8", scale: 0.5, min: -1 } },
        weight("dense/bias", { quantization: { dtype: "float16", original_dtype: "float32" } }),
        weight("iter", { shape: [], dtype: "int32", group: "optimizer" }),
      ],
      data,
    );
    const { dense: params } = found.init() as { dense: Readonly<Record<string, HostTensor>> };
    expect([...(params["kernel"]?.data ?? [])]).toEqual([-1, -0.5, 0, 126.5]);
    expect([...(params["bias"]?.data ?? [])]).toEqual([1, -2]);
    expect(found.weightNames).toEqual({ "dense/kernel": "dense/kernel", "dense/bias": "dense/bias" });
    const wide = { dtype: "uint16", scale: 2, min: 1 };
    const wider = await read(
      sequential(layer("Dense", { units: 2, use_bias: false })),
      [{ ...kernel, quantization: wide }],
      new Uint8Array(Uint16Array.of(0, 1, 2, 65535).buffer),
    );
    const [only] = Object.values(wider.init() as Readonly<Record<string, { kernel: HostTensor }>>);
    expect([...(only?.kernel.data ?? [])]).toEqual([1, 3, 5, 131071]);
  });

  it("inputs of another shape or name are refused", async () => {
    const found = await read(model, [kernel, weight("dense/bias")], all);
    const x = (shape: readonly number[]) => tensor(new Float32Array(shape.reduce((a, b) => a * b)), shape);
    expect(found.inputs).toEqual(["dense_input"]);
    expect(() => outputsOf(found, { dense_input: x([2, 3]) })).toThrow(/must be \[\?, 2\], got \[2, 3\]/);
    expect(() => outputsOf(found, { other: x([2, 2]) })).toThrow(/"dense_input" is no tensor/);
    expect(() => outputsOf(found, { dense_input: x([2, 2]), other: x([2, 2]) })).toThrow(/no input "other"/);
  });

  it("the older list of a Sequential, and names of Keras with numbers", async () => {
    const found = await read(
      { class_name: "Sequential", keras_version: "2.1.6", config: [dense] },
      [weight("sequential/dense/kernel:0", { shape: [2, 2] }), weight("sequential/dense/bias:0")],
      all,
    );
    const got = outputsOf(found, { [found.inputs[0] ?? ""]: tensor(Float32Array.of(1, 1), [1, 2]) });
    expect([...((Object.values(got)[0]?.data as Iterable<number>) ?? [])]).toEqual([9, 12]);
  });
});
