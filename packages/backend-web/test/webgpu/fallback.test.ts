import { encodeModel, onnxGraph, onnxModel, onnxNode } from "@mp/onnx/write";
import * as ort from "onnxruntime-web/webgpu";
import { beforeAll, expect, it } from "vitest";
import { openDevice } from "../../src/open-device.js";
import { WebEngine } from "../../src/web-engine.js";
import { installWebgpu } from "./dawn.js";

beforeAll(installWebgpu);

/** Whether a model of that node is wholly on the GPU. */
async function isOnGpu(op: string, attributes: Parameters<typeof onnxNode>[3] = {}): Promise<boolean> {
  const value = (name: string) => ({
    name,
    type: { elementType: "f32", shape: [2, 2] } as const,
    metadata: {},
  });
  const graph = onnxGraph("one node", {
    nodes: [onnxNode(op, op === "Exp" ? ["x"] : ["x", "x"], ["y"], attributes)],
    inputs: [value("x")],
    outputs: [value("y")],
  });
  const engine = new WebEngine(ort, await openDevice(undefined));
  const { session, isOnGpu } = await engine.load(encodeModel(onnxModel(graph, { opsets: { "": 21 } })));
  engine.release(session);
  await engine.close();
  return isOnGpu;
}

it("a model is loaded that has nodes on the processor, and one says so", async () => {
  expect(await isOnGpu("Exp")).toBe(true);
  expect(await isOnGpu("Mod", { attributes: { fmod: { kind: "int", value: 1n } } })).toBe(false);
});
