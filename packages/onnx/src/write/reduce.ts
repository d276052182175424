import { type ArgOp, type OpOf, REDUCE_OPS, type ReduceOp, rowsOf } from "@mp/graph";
import { int } from "../model.js";
import { type Lowering, type LoweringTable, type NodeWriter, operandAt, typeAt } from "./lowering.js";
import { onnxAttributes } from "./plain.js";

type OfOne = (x: string, writer: NodeWriter) => string;

const identity: OfOne = (x, writer) => writer.one("Identity", [x]);
const absolute: OfOne = (x, writer) => writer.one("Abs", [x]);

/** The effect of a reduction on a single element, for reductions that change it. */
const ofOne: Readonly<Partial<Record<ReduceOp, OfOne>>> = {
  ReduceL1: absolute,
  ReduceL2: absolute,
  ReduceLogSum: (x, writer) => writer.one("Log", [x]),
  ReduceSumSquare: (x, writer) => writer.one("Mul", [x, x]),
};

/**
 * Writes a reduction. An empty list of axes means all axes to ONNX, so a reduction over no axes is written as
 * its effect on each element. ONNX's `noop_with_empty_axes` means the same, but engines then leave out
 * squares and logarithms; it is written only with `keepsOwnOps`.
 */
const reduce: Lowering<ReduceOp> = (node, operands, writer) => {
  const { axes } = node.attributes;
  const x = operandAt(operands, 0);
  const keepdims = int(node.attributes.keepdims ? 1 : 0);
  if (axes.length > 0) return writer.emit(node.op, [x, writer.ints(axes)], { keepdims });
  if (typeAt(node, 0).shape.length === 0) return writer.emit(node.op, [x], { keepdims });
  if (!writer.keepsOwnOps) return [(ofOne[node.op] ?? identity)(x, writer)];
  return writer.emit(node.op, [x], { keepdims, noop_with_empty_axes: int(1) });
};

/** Writes u8 sums and products, which ONNX lacks: in i32, which wraps modulo 2^32, then modulo 256. */
const reduceWrapping: Lowering<"ReduceSum" | "ReduceProd"> = (node, operands, writer) => {
  if (typeAt(node, 0).dtype !== "u8") return reduce(node, operands, writer);
  if (node.attributes.axes.length === 0) return [identity(operandAt(operands, 0), writer)];
  const wide = reduce(node, [writer.cast(operandAt(operands, 0), "i32")], writer);
  const rest = writer.one("Mod", [operandAt(wide, 0), writer.scalar(256, "i32")], { fmod: int(0) });
  return [writer.cast(rest, "u8")];
};

/** Casts the indices, which ONNX gives as i64, to i32. */
const argReduce: Lowering<ArgOp> = (node, operands, writer) => {
  const indices = writer.one(node.op, operands, onnxAttributes(node, "axis", "keepdims"));
  return [writer.cast(indices, "i32")];
};

export const reduceLowerings: LoweringTable<OpOf<"reduce">> = {
  ...rowsOf(REDUCE_OPS, () => reduce),
  ReduceSum: reduceWrapping,
  ReduceProd: reduceWrapping,
  ArgMax: argReduce,
  ArgMin: argReduce,
  TopK: (node, operands, writer) => {
    const { k } = node.attributes;
    const { dtype } = typeAt(node, 0);
    // Opset 23's TopK has no bf16.
    const x = dtype === "bf16" ? writer.cast(operandAt(operands, 0), "f32") : operandAt(operands, 0);
    const attributes = { ...onnxAttributes(node, "axis", "largest"), sorted: int(1) };
    const results = writer.emit("TopK", [x, writer.ints([k])], attributes, { outputs: 2 });
    const values = operandAt(results, 0);
    const indices = writer.cast(operandAt(results, 1), "i32");
    return [dtype === "bf16" ? writer.cast(values, "bf16") : values, indices];
  },
  CumSum: (node, operands, writer) => {
    const inputs = [operandAt(operands, 0), writer.scalar(node.attributes.axis, "i64")];
    return writer.emit("CumSum", inputs, onnxAttributes(node, "exclusive", "reverse"));
  },
};
