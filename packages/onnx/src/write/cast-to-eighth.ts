import type { GraphNode } from "@mp/graph";
import { type NodeWriter, typeAt } from "./lowering.js";

/** The magnitude above which a value overflows, and what it becomes. */
const overflow: Readonly<Record<"f8e4m3" | "f8e5m2", { readonly above: number; readonly to: number }>> = {
  f8e4m3: { above: 464, to: Number.NaN },
  f8e5m2: { above: 61440 - 2 ** -8, to: Number.POSITIVE_INFINITY },
};

/**
 * Writes a cast to f8 after comparisons that decide overflow, as ONNX Runtime is wrong just above the largest number.
 * @returns undefined for other casts
 */
export function castToEighth(
  node: GraphNode<"Cast">,
  [x = ""]: readonly string[],
  writer: NodeWriter,
): readonly string[] | undefined {
  const { to } = node.attributes;
  const { dtype } = typeAt(node, 0);
  if ((to !== "f8e4m3" && to !== "f8e5m2") || dtype === to) return undefined;
  const wide = dtype === "f32" ? x : writer.cast(x, "f32");
  const { above, to: limit } = overflow[to];
  const isBeyond = writer.one("Greater", [writer.one("Abs", [wide]), writer.scalar(above, "f32")]);
  const beyond = writer.one("Mul", [wide, writer.scalar(limit, "f32")]);
  return [writer.cast(writer.one("Where", [isBeyond, beyond, wide]), to)];
}
