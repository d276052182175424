import type { OpOf } from "@mp/graph";
import { int } from "../model.js";
import { type Lowering, type LoweringTable, operandAt } from "./lowering.js";
import { plain } from "./plain.js";
import { throughF16 } from "./through-f16.js";

/** Casts the indices to i64, which ONNX requires for these two ops. */
const withWideIndices =
  <K extends "GatherND" | "ScatterND">(lowering: Lowering<K>): Lowering<K> =>
  (node, operands, writer) =>
    lowering(
      node,
      operands.map((name, index) => (index === 1 ? writer.cast(name, "i64") : name)),
      writer,
    );

export const indexingLowerings: LoweringTable<OpOf<"indexing">> = {
  Gather: throughF16(plain(["axis"])),
  GatherElements: throughF16(plain(["axis"])),
  GatherND: throughF16(withWideIndices(plain(["batchDims"]))),
  ScatterElements: throughF16(plain(["axis", "reduction"])),
  ScatterND: throughF16(withWideIndices(plain(["reduction"]))),
  OneHot: (node, operands, writer) => {
    const { axis, depth, dtype } = node.attributes;
    // In opset 23 OneHot has no bf16. ONNX Runtime's OneHot has no i32, and takes an i64 depth only with i64 indices.
    const computed = dtype === "f16" ? "f16" : "f32";
    const result = writer.one(
      "OneHot",
      [operandAt(operands, 0), writer.scalar(depth, "i32"), writer.list([0, 1], computed)],
      { axis: int(axis) },
    );
    return [dtype === computed ? result : writer.cast(result, dtype)];
  },
};
