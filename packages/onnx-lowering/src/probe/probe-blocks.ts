import { tensor } from "@mp/graph";
import { refusalOf } from "@mp/graph/probe";
import { encodeModel, onnxGraph, onnxModel, onnxNode } from "@mp/onnx/write";
import { BLOCKED_DOMAIN } from "../lowerings/blocked-layout.js";
import type { ProbedEngine } from "./engine.js";

const CHANNELS = 32;
const SHAPE = [1, CHANNELS, 1, 2];

/**
 * Finds the block size of the engine's blocked layout by converting elements that hold their own position.
 * Returns undefined if the engine has no such layout, or a different one.
 */
export async function blockSize(engine: ProbedEngine): Promise<number | undefined> {
  if (engine.device !== "cpu") return undefined;
  const places = Float32Array.from({ length: 2 * CHANNELS }, (_, place) => place);
  const graph = onnxGraph("blocks", {
    nodes: [onnxNode("ReorderInput", ["x"], ["y"], { domain: BLOCKED_DOMAIN })],
    initializers: [{ name: "x", tensor: tensor(places, SHAPE) }],
    outputs: [{ name: "y", type: { elementType: "f32", shape: SHAPE }, metadata: {} }],
  });
  const model = onnxModel(graph, { opsets: { "": 23, [BLOCKED_DOMAIN]: 1 } });
  const outputs = new Map([["y", { dtype: "f32", shape: SHAPE } as const]]);
  let blocked: readonly number[] = [];
  await refusalOf(async () => {
    const results = await engine.runModel(encodeModel(model), new Map(), outputs);
    blocked = Array.from((results.get("y")?.data ?? []) as Float32Array);
  });
  const size = blocked.indexOf(1);
  // The element of channel c at position p is 2c + p. It belongs in block ⌊c / size⌋, at p, c mod size.
  const isLayout = blocked.every((number, at) => {
    const [channel, place] = [Math.floor(number / 2), number % 2];
    return at === (Math.floor(channel / size) * 2 + place) * size + (channel % size);
  });
  return isLayout && size > 1 && CHANNELS % size === 0 ? size : undefined;
}
