import type { GraphNode } from "@mp/graph";
import type { NodeWriter } from "@mp/onnx/write";
import { operandType } from "./own-lowering.js";

/** Runs a computation of several steps in f32 and rounds only its result to the half dtype, instead of each step's. */
export function inF32(
  node: GraphNode,
  x: string,
  writer: NodeWriter,
  compute: (x: string) => string,
): string {
  const { dtype } = operandType(node);
  return dtype === "f32" ? compute(x) : writer.cast(compute(writer.cast(x, "f32")), dtype);
}
