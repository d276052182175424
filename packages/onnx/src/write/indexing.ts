import type { OpOf } from "@mp/core/graph";
import { int, string } from "../model.js";
import { type Lowering, type LoweringTable, operandAt } from "./lowering.js";
import { onAxis, plain } from "./plain.js";
import { throughF16 } from "./through-f16.js";

const indexed: Lowering<"GatherND" | "ScatterND"> = (node, operands, writer) => {
  const attributes =
    node.op === "GatherND"
      ? { batch_dims: int((node.attributes as { readonly batchDims: number }).batchDims) }
      : { reduction: string((node.attributes as { readonly reduction: string }).reduction) };
  // ONNX allows i64 indices only.
  const wide = operands.map((name, index) => (index === 1 ? writer.cast(name, "i64") : name));
  return writer.emit(node.op, wide, attributes);
};

export const indexingLowerings: LoweringTable<OpOf<"indexing">> = {
  Gather: throughF16(plain(onAxis)),
  GatherElements: throughF16(plain(onAxis)),
  GatherND: throughF16(indexed),
  ScatterElements: throughF16(
    plain(({ attributes: { axis, reduction } }) => ({
      axis: int(axis),
      reduction: string(reduction),
    })),
  ),
  ScatterND: throughF16(indexed),
  OneHot: (node, operands, writer) => {
    const { axis, depth, dtype } = node.attributes;
    // Opset 23 has no bf16 here, and ONNX Runtime no i32 (and a depth of i64 only with indices of i64).
    const computed = dtype === "f16" ? "f16" : "f32";
    const result = writer.one(
      "OneHot",
      [operandAt(operands, 0), writer.scalar(depth, "i32"), writer.list([0, 1], computed)],
      { axis: int(axis) },
    );
    return [dtype === computed ? result : writer.cast(result, dtype)];
  },
};
