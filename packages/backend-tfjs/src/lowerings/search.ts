/** Searches along one axis. The engine's own ops compare with `<`, which gives NaN an arbitrary position. */
import { type ArgOp, type GraphNode, isFloat } from "@mp/graph";
import { bool, type } from "../graph/attributes.js";
import type { ScopeWriter } from "../graph/scope-writer.js";
import type { Term } from "../graph/term.js";
import { inF32 } from "./in-f32.js";
import { type Lowering, type LoweringTable, resultAt } from "./lowering.js";

function search(op: ArgOp, x: Term, node: GraphNode<ArgOp>, writer: ScopeWriter): Term {
  const { axis } = node.attributes;
  // The optimizer turns a search for the largest -x into one for the smallest x, and -(-2^31) is -2^31.
  const hidden = x.reshape([1, ...x.shape]);
  const attributes = { T: type(x.dtype), Tidx: type("i32"), output_type: type("i32") };
  const shape = [1, ...x.shape.filter((_, index) => index !== axis)];
  const found = writer.term(op, [hidden, writer.scalar(axis + 1, "i32")], attributes, {
    dtype: "i32",
    shape,
  });
  return found.reshape(resultAt(node).shape);
}

/** Finds, for floats, the first element that equals the extreme or is NaN; any NaN makes the extreme NaN. */
function argReduce(op: ArgOp, extreme: "Max" | "Min"): Lowering<ArgOp> {
  return inF32((node, [x], writer) => {
    if (!isFloat(x.dtype)) return [search(op, x, node, writer)];
    const isBest = x.op("Equal", x.reduce(extreme, [node.attributes.axis], true));
    const marks = writer.term("LogicalOr", [isBest, x.op("IsNan")], {}, isBest);
    return [search("ArgMax", marks.cast("u8"), node, writer)];
  });
}

/**
 * Maps f32 to i32 in the same order, where 0 equals -0 and NaN is largest: for negative floats, all bits but
 * the sign are flipped.
 */
function orderedKeys(x: Term): Term {
  const bits = x.add(0).bitcast("i32");
  const flips = bits.op("RightShift", 31).op("BitwiseAnd", 2 ** 31 - 1);
  const keys = bits.op("BitwiseXor", flips);
  return x.op("IsNan").select(x.writer.scalar(2 ** 31 - 1, "i32"), keys);
}

/** Moves the axis last, as the engine requires. To find the smallest elements, flips all bits of the keys. */
const topK: Lowering<"TopK"> = (node, [given], writer) => {
  const { axis, k, largest } = node.attributes;
  const last = given.shape.length - 1;
  const perm = given.shape.map((_, index) => (index === axis ? last : index === last ? axis : index));
  const swap = (x: Term): Term => (axis === last ? x : x.transpose(perm));
  const x = swap(given);
  const keys = isFloat(x.dtype) ? orderedKeys(x) : x;
  const sought = largest ? keys : keys.op("Invert");
  const attributes = { T: type(keys.dtype), sorted: bool(true) };
  const inputs = [sought, writer.scalar(k, "i32")];
  const names = writer.emit("TopKV2", inputs, attributes, { outputs: 2 });
  const shape = x.shape.with(last, k);
  const [best, indices] = names.map((name, index) =>
    writer.at(name, { dtype: index === 0 ? keys.dtype : "i32", shape }),
  ) as [Term, Term];
  const found = largest ? best : best.op("Invert");
  // Row by row.
  const values = isFloat(x.dtype) ? x.gather(indices, last, last) : found;
  return [swap(values), swap(indices)];
};

export const searchLowerings: LoweringTable<ArgOp | "TopK"> = {
  ArgMax: argReduce("ArgMax", "Max"),
  ArgMin: argReduce("ArgMin", "Min"),
  TopK: inF32(topK),
};
