import type { OpOf, ReduceOp } from "@mp/graph";
import { bool, type } from "../graph/attributes.js";
import type { Term } from "../graph/term.js";
import { inF32 } from "./in-f32.js";
import { type Lowering, type LoweringTable, resultAt } from "./lowering.js";
import { searchLowerings } from "./search.js";

const reduce =
  (op: "Sum" | "Mean" | "Max" | "Min" | "Prod"): Lowering<ReduceOp> =>
  (node, [x]) => [x.reduce(op, node.attributes.axes, node.attributes.keepdims)];

/** Lowers to after(Σ before(x)). In half dtypes all of it is computed in f32. */
function sum(before: string | undefined, after?: string): Lowering<ReduceOp> {
  return inF32((node, [x]) => {
    const { axes, keepdims } = node.attributes;
    const total = (before === undefined ? x : x.op(before)).reduce("Sum", axes, keepdims);
    return [after === undefined ? total : total.op(after)];
  });
}

/** log Σ exp(x - m) + m, where m is the maximum if that is finite, else 0; no intermediate overflows. */
const logSumExp: Lowering<"ReduceLogSumExp"> = (node, [x]) => {
  const { axes, keepdims } = node.attributes;
  const shift = finiteOrZero(x.reduce("Max", axes, true));
  const total = x.sub(shift).op("Exp").reduce("Sum", axes, keepdims);
  const back = keepdims ? shift : shift.reduce("Max", axes, false);
  return [total.op("Log").add(back)];
};

const finiteOrZero = (x: Term): Term => x.op("IsFinite").select(x, 0);

/** Lowers to after(Σ x²). Over all elements, the sum is 2 · L2Loss(x), a kernel that reads x once. */
function sumOfSquares(after?: string): Lowering<ReduceOp> {
  const byAxes = sum("Square", after);
  return inF32((node, operands, writer) => {
    const [x] = operands;
    if (x.dtype !== "f32" || node.attributes.axes.length < x.shape.length)
      return byAxes(node, operands, writer);
    const half = writer.term("L2Loss", [x], { T: type("f32") }, { dtype: "f32", shape: [] });
    const total = half.mul(2);
    return [(after === undefined ? total : total.op(after)).reshape(resultAt(node).shape)];
  });
}

const cumSum: Lowering<"CumSum"> = (node, [x], writer) => {
  const { axis, exclusive, reverse } = node.attributes;
  const attributes = {
    T: type(x.dtype),
    Tidx: type("i32"),
    exclusive: bool(exclusive),
    reverse: bool(reverse),
  };
  return [writer.term("Cumsum", [x, writer.scalar(axis, "i32")], attributes, x)];
};

export const reduceLowerings: LoweringTable<OpOf<"reduce">> = {
  ReduceSum: reduce("Sum"),
  ReduceMean: reduce("Mean"),
  ReduceMax: reduce("Max"),
  ReduceMin: reduce("Min"),
  /** Computed in f32, as the engine accumulates products and cumulative sums in their own dtype, even f16 and bf16. */
  ReduceProd: inF32(reduce("Prod")),
  ReduceL1: sum("Abs"),
  ReduceL2: sumOfSquares("Sqrt"),
  ReduceLogSum: sum(undefined, "Log"),
  ReduceLogSumExp: inF32(logSumExp),
  ReduceSumSquare: sumOfSquares(),
  ...searchLowerings,
  CumSum: inF32(cumSum),
};
