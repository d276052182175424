// Models of a few nodes, to be read, and what reading refuses.
import { MpError, printGraph } from "@mp/graph";
import {
  type OnnxAttributes,
  type OnnxGraph,
  type OnnxModel,
  type OnnxNode,
  onnxGraph,
  onnxModel,
  onnxNode,
} from "../src/model.js";
import { type ReadModel, readGraph } from "../src/read/read.js";
import type { ReadOptions } from "../src/read/read-options.js";

/** An input or output. */
export const f32 = (name: string, ...shape: (number | string)[]): OnnxGraph["inputs"][number] => ({
  name,
  type: { elementType: "f32", shape },
  metadata: {},
});
/** Reads a graph with the input x, f32[2, 3], unless it says otherwise. */
export const reading = (
  graph: Partial<OnnxGraph>,
  rest?: Partial<OnnxModel>,
  options?: ReadOptions,
): ReadModel => readGraph(onnxModel(onnxGraph("g", { inputs: [f32("x", 2, 3)], ...graph }), rest), options);
export const of = (
  opType: string,
  attributes: OnnxAttributes = {},
  inputs: readonly string[] = ["x"],
  outputs: readonly string[] = ["y"],
): OnnxNode => onnxNode(opType, inputs, outputs, { name: "n", attributes });
/** The graph of nodes behind x, printed. */
export const text = (...nodes: readonly OnnxNode[]): string => printGraph(reading({ nodes }).graph);

/** The code and message of the error. */
export function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (MpError.is(error)) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "accepted";
}
