import type { HostTensor } from "@mp/core";
import { GraphBuilder, type GraphNode } from "@mp/core/graph";
import { evaluate } from "@mp/core/reference";
import { int, ints } from "../model.js";
import type { LoweringTable } from "./lowering.js";
import { OWN_DOMAIN } from "./own-domain.js";
import { decomposeRandomBits } from "./random-bits.js";

/** Integers that every engine counts alike; a sum of fractions depends on how it is done. */
function isCountedExactly({ start, limit, delta, dtype }: GraphNode<"Range">["attributes"]): boolean {
  if (dtype !== "f32" && dtype !== "i32" && dtype !== "i64") return false;
  const bound = dtype === "f32" ? 2 ** 24 : 2 ** 31;
  return [start, limit, delta].every((number) => Number.isInteger(number) && Math.abs(number) < bound);
}

function evaluated({ op, attributes }: GraphNode<"Range">): HostTensor {
  const builder = new GraphBuilder();
  const { result } = evaluate(builder.finish({ result: builder.emitOne(op, [], attributes) }), {});
  if (result === undefined) throw new Error("internal: the graph has no result");
  return result;
}

export const sourceLowerings: LoweringTable<"Constant" | "Range" | "RandomBits" | "Barrier"> = {
  Constant: (node, _, writer) =>
    writer.emit("Constant", [], { value: { kind: "tensor", value: node.attributes.value } }),
  Range: (node, _, writer) => {
    if (!isCountedExactly(node.attributes)) {
      return writer.emit("Constant", [], { value: { kind: "tensor", value: evaluated(node) } });
    }
    const { start, limit, delta, dtype } = node.attributes;
    return writer.emit(
      "Range",
      [start, limit, delta].map((number) => writer.scalar(number, dtype)),
    );
  },
  RandomBits: (node, operands, writer) => {
    const { key, shape } = node.attributes;
    if (!writer.keepsOwnOps) return decomposeRandomBits(node, operands, writer);
    const attributes = { key: int(BigInt.asIntN(64, key)), shape: ints(shape) };
    return writer.emit("RandomBits", operands, attributes, { domain: OWN_DOMAIN });
  },
  /** What it orders, an ONNX file cannot say: the order of its nodes is only one that is allowed. */
  Barrier: (_, operands, writer) =>
    writer.keepsOwnOps
      ? writer.emit("Barrier", operands, {}, { domain: OWN_DOMAIN })
      : writer.emit("Identity", operands.slice(0, 1)),
};
