import { elementCount, normalizeAxis, type Shape } from "../../shape.js";
import type { Op } from "../attributes.js";
import { type ArgOp, type OpOf, REDUCE_OPS, type ReduceOp, rowsOf } from "../families.js";
import type { ValueType } from "../graph.js";
import { argumentError, expectDType, type InferTable, operands, shapeError } from "./rule.js";

/** The shape after reducing the axes. */
export function reduceShape(shape: Shape, axes: readonly number[], keepdims: boolean): Shape {
  return keepdims
    ? shape.map((dimension, axis) => (axes.includes(axis) ? 1 : dimension))
    : shape.filter((_, axis) => !axes.includes(axis));
}

type ReduceAttributes = { readonly axes: readonly number[]; readonly keepdims: boolean };

/** Reductions that are undefined over an empty axis, unlike sums and products. */
const NEEDS_ELEMENTS: ReadonlySet<Op> = new Set<Op>(["ReduceMean", "ReduceMax", "ReduceMin"]);

function reduce(op: ReduceOp) {
  return (inputs: readonly ValueType[], { axes, keepdims }: ReduceAttributes): readonly ValueType[] => {
    const [x] = operands(op, inputs, 1);
    expectDType(op, x);
    for (const axis of axes) {
      if (normalizeAxis(axis, x.shape.length, op) !== axis)
        throw argumentError(op, "axes are normalized in the graph");
    }
    if (new Set(axes).size !== axes.length) throw argumentError(op, `axes repeat: ${axes.join(", ")}`);
    if (NEEDS_ELEMENTS.has(op) && axes.some((axis) => x.shape[axis] === 0))
      throw shapeError(op, "reduces no elements");
    return [{ dtype: x.dtype, shape: reduceShape(x.shape, axes, keepdims) }];
  };
}

function argReduce(op: ArgOp) {
  return (
    inputs: readonly ValueType[],
    { axis, keepdims }: { readonly axis: number; readonly keepdims: boolean },
  ): readonly ValueType[] => {
    const [x] = operands(op, inputs, 1);
    expectDType(op, x);
    normalizeAxis(axis, x.shape.length, op);
    if (x.shape[axis] === 0) throw shapeError(op, "reduces no elements");
    return [{ dtype: "i32", shape: reduceShape(x.shape, [axis], keepdims) }];
  };
}

export const reduceInfer: InferTable<OpOf<"reduce">> = {
  ...rowsOf(REDUCE_OPS, reduce),
  ArgMax: argReduce("ArgMax"),
  ArgMin: argReduce("ArgMin"),
  TopK: (inputs, { axis, k }) => {
    const [x] = operands("TopK", inputs, 1);
    expectDType("TopK", x);
    normalizeAxis(axis, x.shape.length, "TopK");
    const size = x.shape[axis] ?? 0;
    if (!Number.isInteger(k) || k < 1 || k > size)
      throw argumentError("TopK", `k is ${k}, the axis has ${size} elements`);
    const shape = x.shape.map((dimension, index) => (index === axis ? k : dimension));
    return [
      { dtype: x.dtype, shape },
      { dtype: "i32", shape },
    ];
  },
  CumSum: (inputs, { axis }) => {
    const [x] = operands("CumSum", inputs, 1);
    expectDType("CumSum", x);
    normalizeAxis(axis, x.shape.length, "CumSum");
    elementCount(x.shape, "CumSum");
    return [x];
  },
};
