import {
  type ArgOp,
  isFloat,
  type OpAttributes,
  type OpOf,
  REDUCE_OPS,
  type ReduceOp,
  rowsOf,
  type Value,
} from "@mp/graph";
import { argMax, argMin, slice, sub } from "@mp/graph/ops";
import { literals } from "../literals.js";
import type { NodeReader, ReaderTable, ReadNode } from "./node/node-reader.js";

/** Reads a reduction. Its axes are an operand from opset 18 on (ReduceSum: 13), and an attribute in older opsets. */
function reduce(op: ReduceOp): ReadNode {
  return (reader) => {
    const x = reader.operand(0);
    const given = reader.ints("axes") ?? reader.integers(1) ?? [];
    const keepdims = reader.int("keepdims", 1) !== 0;
    // Without axes, the other steps of the op remain, such as the squares of ReduceSumSquare.
    const isOverNone = reader.int("noop_with_empty_axes", 0) !== 0;
    const isOverAll = given.length === 0 && !isOverNone;
    const named = isOverAll ? x.shape.map((_, axis) => axis) : given;
    const axes = named.map((axis) => reader.fromFront(axis, x.shape.length));
    const attributes: OpAttributes[ReduceOp] = { axes: [...new Set(axes)].sort((a, b) => a - b), keepdims };
    const isExtreme = op === "ReduceMax" || op === "ReduceMin";
    if (isExtreme && x.dtype === "bool") return [reduceTruths(reader, op, x, attributes)];
    if (isExtreme && x.shape.some((size, axis) => size === 0 && axes.includes(axis)))
      return [extremeOfNothing(reader, op, x, attributes)];
    return [reader.emitOne(op, [x], attributes)];
  };
}

/** Reduces bools: ReduceMax gives whether any is true, ReduceMin whether all are. */
function reduceTruths(reader: NodeReader, op: ReduceOp, x: Value, attributes: OpAttributes[ReduceOp]): Value {
  const isEmpty = x.shape.some((size, axis) => size === 0 && attributes.axes.includes(axis));
  const numbers = reader.emitOne("Cast", [x], { to: "i32" });
  const ofNothing = reader.emitOne(op === "ReduceMax" ? "ReduceSum" : "ReduceProd", [numbers], attributes);
  // Over no elements, "any" is false and "all" is true.
  const reduced = isEmpty ? ofNothing : reader.emitOne(op, [numbers], attributes);
  return reader.emitOne("Cast", [reduced], { to: "bool" });
}

/** The maximum or minimum of no elements: -∞ or ∞. */
function extremeOfNothing(
  reader: NodeReader,
  op: ReduceOp,
  x: Value,
  { axes, keepdims }: OpAttributes[ReduceOp],
): Value {
  if (!isFloat(x.dtype))
    return reader.unsupported(`reduces no elements of ${x.dtype}, which have no infinity`);
  const value = literals([Number.NEGATIVE_INFINITY * (op === "ReduceMax" ? 1 : -1)], x.dtype, []);
  const shape = x.shape.flatMap((size, axis) => (!axes.includes(axis) ? [size] : keepdims ? [1] : []));
  return reader.emitOne("Expand", [reader.emitOne("Constant", [], { value })], { shape });
}

function argReduce(op: ArgOp): ReadNode {
  return (reader) => {
    const x = reader.operand(0);
    const axis = reader.axis(x.shape.length, 0);
    const keepdims = reader.int("keepdims", 1) !== 0;
    if (reader.int("select_last_index", 0) === 0)
      return [{ narrow: reader.emitOne(op, [x], { axis, keepdims }) }];
    const search = op === "ArgMax" ? argMax : argMin;
    // Searches backward: of equal elements, the last one is then found.
    const [narrow] = reader.compose([x], (values) => {
      const backwards = slice(values, [{ axis, start: -1, end: Number.NEGATIVE_INFINITY, step: -1 }]);
      return sub((x.shape[axis] as number) - 1, search(backwards, { axis, keepdims }));
    });
    return [{ narrow }];
  };
}

export const reduceReaders: ReaderTable<OpOf<"reduce">> = {
  ...rowsOf(REDUCE_OPS, reduce),
  ArgMax: argReduce("ArgMax"),
  ArgMin: argReduce("ArgMin"),
  TopK: (reader) => {
    const x = reader.operand(0);
    const [k] = reader.integers(1) ?? [];
    if (k === undefined) return reader.unsupported("has no k");
    // Without `sorted` any order is allowed, so sorted results are right.
    reader.int("sorted", 1);
    const axis = reader.axis(x.shape.length, -1);
    const largest = reader.int("largest", 1) !== 0;
    const [values, indices] = reader.emit("TopK", [x], { axis, k, largest });
    if (values === undefined || indices === undefined) throw new Error("internal: TopK has two outputs");
    return [values, { narrow: indices }];
  },
  CumSum: (reader) => {
    const x = reader.operand(0);
    const [axis] = reader.integers(1) ?? [];
    if (axis === undefined) return reader.unsupported("has no axis");
    return [
      reader.emitOne("CumSum", [x], {
        axis: reader.fromFront(axis, x.shape.length),
        exclusive: reader.int("exclusive", 0) !== 0,
        reverse: reader.int("reverse", 0) !== 0,
      }),
    ];
  },
};
