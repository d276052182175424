import { type OpOf, uncountableRange } from "@mp/graph";
import { int, ints } from "../model.js";
import { OWN_DOMAIN } from "../own-domain.js";
import type { LoweringTable } from "./lowering.js";
import { decomposeRandomBits } from "./random-bits.js";

export const sourceLowerings: LoweringTable<OpOf<"source">> = {
  Constant: (node, _, writer) =>
    writer.emit("Constant", [], { value: { kind: "tensor", value: node.attributes.value } }),
  Range: (node, _, writer) => {
    const values = uncountableRange(node);
    if (values !== undefined)
      return writer.emit("Constant", [], { value: { kind: "tensor", value: values } });
    const { start, limit, delta, dtype } = node.attributes;
    const bounds = [start, limit, delta].map((number) => writer.scalar(number, dtype));
    return writer.emit("Range", bounds);
  },
  RandomBits: (node, operands, writer) => {
    if (!writer.keepsOwnOps) return decomposeRandomBits(node, operands, writer);
    const { key, shape } = node.attributes;
    const attributes = { key: int(BigInt.asIntN(64, key)), shape: ints(shape) };
    return writer.emit("RandomBits", operands, attributes, { domain: OWN_DOMAIN });
  },
  /** Passes the first operand on, because an ONNX file cannot prescribe an order of nodes. */
  Barrier: (_, operands, writer) =>
    writer.keepsOwnOps
      ? writer.emit("Barrier", operands, {}, { domain: OWN_DOMAIN })
      : writer.emit("Identity", operands.slice(0, 1)),
};
