import { int } from "../model.js";
import { type Lowering, type LoweringTable, operandAt, typeAt } from "./lowering.js";

type ReduceOp =
  | "ReduceSum" | "ReduceMean" | "ReduceMax" | "ReduceMin" | "ReduceProd" | "ReduceL1" | "ReduceL2" | "ReduceLogSum"
  | "ReduceLogSumExp" | "ReduceSumSquare"; // biome-ignore format: one list

/** Without axes ONNX reduces all of them, which for a scalar is none. */
const reduce: Lowering<ReduceOp> = (node, operands, writer) => {
  const { axes, keepdims } = node.attributes;
  const x = operandAt(operands, 0);
  return writer.emit(node.op, axes.length === 0 ? [x] : [x, writer.ints(axes)], {
    keepdims: int(keepdims ? 1 : 0),
  });
};

/** ONNX has no u8 sums and products: in i32, which wraps at a multiple of 256, and modulo 256. */
const reduceWrapping: Lowering<"ReduceSum" | "ReduceProd"> = (node, operands, writer) => {
  if (typeAt(node, 0).dtype !== "u8") return reduce(node, operands, writer);
  const wide = reduce(node, [writer.cast(operandAt(operands, 0), "i32")], writer);
  const rest = writer.one("Mod", [operandAt(wide, 0), writer.scalar(256, "i32")], { fmod: int(0) });
  return [writer.cast(rest, "u8")];
};

/** ONNX's indices are i64. */
const argReduce: Lowering<"ArgMax" | "ArgMin"> = (node, operands, writer) => {
  const { axis, keepdims } = node.attributes;
  const indices = writer.one(node.op, operands, { axis: int(axis), keepdims: int(keepdims ? 1 : 0) });
  return [writer.cast(indices, "i32")];
};

export const reduceLowerings: LoweringTable<ReduceOp | "ArgMax" | "ArgMin" | "TopK" | "CumSum"> = {
  ReduceSum: reduceWrapping,
  ReduceMean: reduce,
  ReduceMax: reduce,
  ReduceMin: reduce,
  ReduceProd: reduceWrapping,
  ReduceL1: reduce,
  ReduceL2: reduce,
  ReduceLogSum: reduce,
  ReduceLogSumExp: reduce,
  ReduceSumSquare: reduce,
  ArgMax: argReduce,
  ArgMin: argReduce,
  TopK: (node, operands, writer) => {
    const { axis, k, largest } = node.attributes;
    const { dtype } = typeAt(node, 0);
    // Opset 23 has no bf16 here.
    const x = dtype === "bf16" ? writer.cast(operandAt(operands, 0), "f32") : operandAt(operands, 0);
    const attributes = { axis: int(axis), largest: int(largest ? 1 : 0), sorted: int(1) };
    const results = writer.emit("TopK", [x, writer.ints([k])], attributes, { outputs: 2 });
    const values = operandAt(results, 0);
    const indices = writer.cast(operandAt(results, 1), "i32");
    return [dtype === "bf16" ? writer.cast(values, "bf16") : values, indices];
  },
  CumSum: (node, operands, writer) => {
    const { axis, exclusive, reverse } = node.attributes;
    return writer.emit("CumSum", [operandAt(operands, 0), writer.scalar(axis, "i64")], {
      exclusive: int(exclusive ? 1 : 0),
      reverse: int(reverse ? 1 : 0),
    });
  },
};
