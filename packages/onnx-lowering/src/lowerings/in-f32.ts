import type { GraphNode } from "@mp/graph";
import type { NodeWriter } from "@mp/onnx/write";
import { operandType } from "./own-lowering.js";

/**
 * For computations in several steps, each of which would round to a half: the steps run in f32 and only the result is
 * rounded.
 */
export function inF32(
  node: GraphNode,
  x: string,
  writer: NodeWriter,
  compute: (x: string) => string,
): string {
  const { dtype } = operandType(node);
  return dtype === "f32" ? compute(x) : writer.cast(compute(writer.cast(x, "f32")), dtype);
}
