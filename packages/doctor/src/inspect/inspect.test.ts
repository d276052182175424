import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adamW, mixedFloat16, ops, tensor, trainer } from "@mp/core";
import { reference } from "@mp/core/reference";
import { encodeModel, onnxGraph, onnxModel, onnxNode } from "@mp/onnx";
import { saveFile } from "@mp/safetensors/file";
import { afterAll, beforeAll, expect, it } from "vitest";
import { printInspection } from "../print/print-inspection.js";
import { inspectFile } from "./inspect-file.js";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-inspect-"));
});
afterAll(() => rm(folder, { recursive: true }));

it("a checkpoint gives the settings of its run, its position and its tensors", async () => {
  const path = join(folder, "run");
  const training = await trainer({
    backend: await reference(),
    params: { w: tensor(Float32Array.of(1, 2)) },
    loss: ({ w }, { x }) => ops.reduceSum(ops.mul(w, x)),
    optimizer: adamW({ learningRate: 0.1 }),
    precision: mixedFloat16(),
    onWarning: () => undefined,
  });
  await training.step({ x: tensor(Float32Array.of(1, 1)) });
  await training.save(path, { cursor: { epoch: 3 } });
  const inspection = await inspectFile(path);
  expect(inspection).toMatchObject({
    kind: "checkpoint",
    isTraining: true,
    settings: { precision: "mixed_float16", cursor: '{"epoch":3}' },
    groups: { master: { tensors: 1, bytes: 8 }, optimizer: { tensors: 2, bytes: 16 } },
  });
  const printed = printInspection(inspection, { all: false });
  expect(printed).toMatch(/^ {2}optimizer +adamW\(/m);
  expect(printed).toMatch(/^ {2}scaler\/scale +F32 +\[\] +4 B +(= 65536)$/m);
});

it("a long list is cut with a count, and whole with all; names cannot steer the terminal", async () => {
  const path = join(folder, "many.safetensors");
  const one = { dtype: "F16", shape: [2], data: Uint16Array.of(1, 2) } as const;
  const names = Array.from({ length: 25 }, (_, i) => `t${i}\u001b[31m`);
  await saveFile(path, Object.fromEntries(names.map((name) => [name, one])));
  const inspection = await inspectFile(path);
  const cut = printInspection(inspection, { all: false });
  expect(cut).toMatch(/… and 5 more, --all shows them\n$/);
  expect(cut).not.toContain("\u001b");
  const whole = printInspection(inspection, { all: true });
  expect(whole).not.toMatch(/more/);
  expect(whole.match(/t\d+\\u001b\[31m/g)).toHaveLength(25);
});

it("an ONNX model gives its opset, inputs, outputs, operators and initializers", async () => {
  const path = join(folder, "model.onnx");
  const layer = onnxGraph("layer", {
    inputs: [{ name: "x", type: { elementType: "f32", shape: ["batch", 3] }, metadata: {} }],
    initializers: [{ name: "w", tensor: tensor(new Float32Array(12), [3, 4]) }],
    nodes: [onnxNode("MatMul", ["x", "w"], ["h"]), onnxNode("Whirl", ["h"], ["y"])],
    outputs: [{ name: "y", metadata: {} }],
  });
  await writeFile(path, encodeModel(onnxModel(layer)));
  const inspection = await inspectFile(path);
  expect(inspection).toMatchObject({
    kind: "onnx",
    opsets: { "": 23 },
    inputs: [{ name: "x", dtype: "f32", shape: ["batch", 3] }],
    outputs: [{ name: "y", dtype: "unknown" }],
    operators: { MatMul: 1, Whirl: 1 },
    nodes: [
      { operator: "MatMul", inputs: ["x", "w"], outputs: ["h"] },
      { operator: "Whirl", inputs: ["h"], outputs: ["y"] },
    ],
    notRead: ["Whirl"],
    tensors: [{ name: "w", dtype: "f32", shape: [3, 4], bytes: 48 }],
  });
  const printed = printInspection(inspection, { all: false });
  expect(printed).toMatch(/^ {2}not read by @mp\/onnx +Whirl$/m);
  expect(printed).toMatch(/^ {2}h +MatMul\(x, w\)\n {2}y +Whirl\(h\)$/m);
});

it("of a long model the last values are printed, where a head is cut off", async () => {
  const path = join(folder, "long.onnx");
  const nodes = Array.from({ length: 11 }, (_, i) => onnxNode("Relu", [`v${i}`], [`v${i + 1}`]));
  const graph = onnxGraph("long", {
    inputs: [{ name: "v0", type: { elementType: "f32", shape: [3] }, metadata: {} }],
    initializers: [],
    nodes,
    outputs: [{ name: "v11", metadata: {} }],
  });
  await writeFile(path, encodeModel(onnxModel(graph)));
  const inspection = await inspectFile(path);
  expect(printInspection(inspection, { all: false })).toMatch(
    /… and 3 before, --all shows them\n {2}v4 +Relu\(v3\)\n/,
  );
  expect(printInspection(inspection, { all: true })).toMatch(/^ {2}v1 +Relu\(v0\)$/m);
});

it("damaged and foreign files give their code", async () => {
  const file = async (name: string, bytes: Uint8Array) => {
    await writeFile(join(folder, name), bytes);
    return inspectFile(join(folder, name));
  };
  const one = { dtype: "F32", shape: [2], data: Float32Array.of(1, 2) } as const;
  await saveFile(join(folder, "good.safetensors"), { one });
  const { readFile } = await import("node:fs/promises");
  const good = await readFile(join(folder, "good.safetensors"));
  const flipped = Uint8Array.from(good, (byte, i) => (i === good.length - 1 ? byte ^ 1 : byte));
  await expect(file("flipped", flipped)).rejects.toMatchObject({ code: "SAFETENSORS_PARSE" });
  await expect(file("cut", good.subarray(0, 60))).rejects.toMatchObject({ code: "SAFETENSORS_PARSE" });
  await expect(file("cut.onnx", Uint8Array.of(8, 11, 58, 200))).rejects.toMatchObject({ code: "MP_PARSE" });
  await expect(file("zip.pt", Buffer.from("PK\u0003\u0004 as torch.save writes"))).rejects.toMatchObject({
    code: "MP_PARSE",
    message: expect.stringMatching(/neither a checkpoint \(safetensors\) nor an ONNX model$/) as string,
  });
  await expect(inspectFile(join(folder, "missing"))).rejects.toMatchObject({ code: "MP_IO" });
  await expect(inspectFile(folder)).rejects.toMatchObject({ code: "MP_IO" });
});

it("a model that is too large to be one is refused unread", async () => {
  const path = join(folder, "large.onnx");
  await writeFile(path, "");
  await truncate(path, 3 * 2 ** 30);
  await expect(inspectFile(path)).rejects.toMatchObject({ code: "MP_PARSE" });
});

it("more rows than a call has arguments are printed, and letters that turn the order of others are not", () => {
  const tensors = Array.from({ length: 150_000 }, (_, i) => ({
    name: `t${i}\u202e`,
    dtype: "U8",
    shape: [1],
    bytes: 1,
  }));
  const printed = printInspection(
    { kind: "checkpoint", path: "p", isTraining: false, settings: {}, groups: {}, tensors },
    { all: true },
  );
  expect(printed.split("\n")).toHaveLength(150_002);
  expect(printed).toContain("t149999\\u202e");
  expect(printed).not.toContain("\u202e");
});
