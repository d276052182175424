/** Searches along one axis. The engine's ops compare with `<`, so the position of NaN is arbitrary. */
import { type ArgOp, type GraphNode, isFloat } from "@mp/core/graph";
import { bool, int, type Lowering, type LoweringTable, type TfWriter, type } from "../graph/tf-writer.js";
import { emitReduce, emitT, operandAt, reshape, resultAt, transposed, typeAt } from "./lowering.js";
import { inF32 } from "./twins.js";

function search(
  op: ArgOp,
  x: string,
  dtype: "f32" | "u8" | undefined,
  node: GraphNode<ArgOp>,
  writer: TfWriter,
) {
  const { axis } = node.attributes;
  const { shape } = resultAt(node);
  const from = typeAt(node, 0);
  // The optimizer turns a search for the largest -x into one for the smallest x, and -(-2^31) is -2^31.
  const hidden = reshape(x, dtype ?? from.dtype, from.shape, [1, ...from.shape], writer);
  const found = writer.one(op, [hidden, writer.scalar(axis + 1, "i32")], {
    T: type(dtype ?? from.dtype),
    Tidx: type("i32"),
    output_type: type("i32"),
  });
  const squeezed = [1, ...from.shape.filter((_, index) => index !== axis)];
  return [reshape(found, "i32", squeezed, shape, writer)];
}

/** For floats, the first element that equals the extreme, or the first NaN: the extreme is NaN if any element is. */
function argReduce(op: ArgOp, extreme: "Max" | "Min"): Lowering<ArgOp> {
  return inF32((node, operands, writer) => {
    const { dtype } = typeAt(node, 0);
    const x = operandAt(operands, 0);
    if (!isFloat(dtype)) return search(op, x, undefined, node, writer);
    const best = emitReduce(extreme, x, typeAt(node, 0), [node.attributes.axis], true, writer);
    const isBest = emitT("Equal", [x, best], dtype, writer);
    const marks = writer.one("LogicalOr", [isBest, emitT("IsNan", [x], dtype, writer)]);
    return search("ArgMax", writer.cast(marks, "bool", "u8"), "u8", node, writer);
  });
}

/**
 * Integers in the order of the floats, with zeros equal and NaN above all: for negative floats all bits but the sign
 * are flipped.
 */
function orderedKeys(x: string, writer: TfWriter): string {
  const i32 = (op: string, a: string, b: number | string): string =>
    emitT(op, [a, typeof b === "number" ? writer.scalar(b, "i32") : b], "i32", writer);
  const unsignedZero = emitT("AddV2", [x, writer.scalar(0, "f32")], "f32", writer);
  const bits = writer.one("Bitcast", [unsignedZero], { T: type("f32"), type: type("i32") });
  const turned = i32("BitwiseAnd", i32("RightShift", bits, 31), 2 ** 31 - 1);
  const keys = i32("BitwiseXor", bits, turned);
  const isNotNumber = emitT("IsNan", [x], "f32", writer);
  return emitT("SelectV2", [isNotNumber, writer.scalar(2 ** 31 - 1, "i32"), keys], "i32", writer);
}

/** The engine searches the last axis for the largest; flipping all bits of integers reverses their order. */
const topK: Lowering<"TopK"> = (node, operands, writer) => {
  const { axis, k, largest } = node.attributes;
  const { dtype, shape } = typeAt(node, 0);
  const last = shape.length - 1;
  const swap = shape.map((_, index) => (index === axis ? last : index === last ? axis : index));
  const swapped = (name: string, as: typeof dtype): string =>
    axis === last ? name : transposed(name, as, swap, writer);
  const x = swapped(operandAt(operands, 0), dtype);
  const keyType = isFloat(dtype) ? "i32" : dtype;
  const keys = isFloat(dtype) ? orderedKeys(x, writer) : x;
  const sought = largest ? keys : emitT("Invert", [keys], keyType, writer);
  const [best = "", indices = ""] = writer.emit(
    "TopKV2",
    [sought, writer.scalar(k, "i32")],
    { T: type(keyType), sorted: bool(true) },
    { outputs: 2 },
  );
  const unturned = largest ? best : emitT("Invert", [best], keyType, writer);
  const values = isFloat(dtype) ? picked(x, indices, last, writer) : unturned;
  return [swapped(values, dtype), swapped(indices, "i32")];
};

/** Elements of x at those indices along its last axis, row by row. */
function picked(x: string, indices: string, last: number, writer: TfWriter): string {
  return writer.one("GatherV2", [x, indices, writer.scalar(last, "i32")], {
    Tparams: type("f32"),
    Tindices: type("i32"),
    Taxis: type("i32"),
    batch_dims: int(last),
  });
}

export const searchLowerings: LoweringTable<ArgOp | "TopK"> = {
  ArgMax: argReduce("ArgMax", "Max"),
  ArgMin: argReduce("ArgMin", "Min"),
  TopK: inF32(topK),
};
