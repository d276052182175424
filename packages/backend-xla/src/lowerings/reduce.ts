import type { OpOf, ReduceOp } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import type { FoldOp } from "../stablehlo/neutral.js";
import { count, dtypeOf, type Operand, rankOf, repeated, shapeOf, sizeOf } from "../stablehlo/operand.js";
import { rowMajor } from "../stablehlo/row-major.js";
import { arrayText, typesText, typeText } from "../stablehlo/tensor-type.js";
import { inF32, type Lowering, type LoweringTable, resultType } from "./lowering.js";
import { searchLowerings } from "./search.js";

type Step = (emitter: Emitter, x: Operand) => Operand;

/** after(fold(before(x))), in f32 for halves. */
function reduce(fold: FoldOp, before?: Step, after?: Step): Lowering<ReduceOp> {
  return inF32((emitter, node, [x]) => {
    const { axes } = node.attributes;
    const terms = before?.(emitter, x) ?? x;
    // XLA would like the axes of a sum to be the last in memory, and give that order to all that x comes from.
    const rank = rankOf(x) - axes.length;
    const isReordered = rank > 1 && axes.some((axis) => axis < rank);
    const folded = emitter.reduce(fold, isReordered ? rowMajor(emitter, terms) : terms, axes);
    return [emitter.reshape(after?.(emitter, folded) ?? folded, resultType(node).shape)];
  });
}

const abs: Step = (emitter, x) => emitter.unary("abs", x);
const square: Step = (emitter, x) => emitter.binary("multiply", x, x);
const log: Step = (emitter, x) => emitter.unary("log", x);
const root: Step = (emitter, x) => emitter.unary("sqrt", x);

const mean: Lowering<"ReduceMean"> = inF32((emitter, node, [x]) => {
  const { axes } = node.attributes;
  const sum = emitter.reduce("add", x, axes);
  const terms = count(axes.map((axis) => sizeOf(x, axis)));
  return [emitter.reshape(emitter.binary("divide", sum, emitter.like(sum, terms)), resultType(node).shape)];
});

/** log Σ exp(x), relative to the maximum if that is finite, so that no intermediate value overflows. */
const logSumExp: Lowering<"ReduceLogSumExp"> = inF32((emitter, node, [x]) => {
  const { axes } = node.attributes;
  const most = emitter.reduceKept("maximum", x, axes);
  const isTame = emitter.compare("LT", emitter.unary("abs", most), Number.POSITIVE_INFINITY);
  const shift = emitter.select(isTame, most, 0);
  const powers = emitter.unary(
    "exponential",
    emitter.binary("subtract", x, emitter.expand(shift, shapeOf(x))),
  );
  const sum = emitter.unary("log", emitter.reduceKept("add", powers, axes));
  return [emitter.reshape(emitter.binary("add", sum, shift), resultType(node).shape)];
});

/** Sums of a window that ends (or, in reverse, begins) at each element; XLA makes a tree of sums of it. */
const cumSum: Lowering<"CumSum"> = inF32((emitter, node, [x]) => {
  const { axis, exclusive, reverse } = node.attributes;
  const size = sizeOf(x, axis);
  if (count(shapeOf(x)) === 0) return [x];
  const rank = shapeOf(x).length;
  const zero = emitter.splat(dtypeOf(x), 0);
  const scalar = { dtype: dtypeOf(x), shape: [] };
  const body = emitter.region([scalar, scalar], ([a, b]) => (a && b ? [emitter.binary("add", a, b)] : []));
  const windows = repeated(1, rank).with(axis, size);
  const outside = repeated(0, 2 * rank).with(2 * axis + (reverse ? 1 : 0), size - 1);
  const pairs = Array.from(
    { length: rank },
    (_, index) => `[${outside.slice(2 * index, 2 * index + 2).join(", ")}]`,
  );
  const ones = arrayText(repeated(1, rank));
  const sums = emitter.emit(
    `"stablehlo.reduce_window"(${x.name}, ${zero.name}) <{window_dimensions = ${arrayText(windows)}, window_strides = ${ones}, base_dilations = ${ones}, window_dilations = ${ones}, padding = dense<[${pairs.join(", ")}]> : tensor<${rank}x2xi64>}> (${body}) : (${typesText([x, zero])}) -> ${typeText(x.type)}`,
    x.type,
  );
  if (!exclusive) return [sums];
  const shift = repeated(0, rank).with(axis, 1);
  const back = shift.map((by) => -by);
  return [reverse ? emitter.pad(sums, zero, back, shift) : emitter.pad(sums, zero, shift, back)];
});

export const reduceLowerings: LoweringTable<OpOf<"reduce">> = {
  ReduceSum: reduce("add"),
  ReduceMean: mean,
  ReduceMax: reduce("maximum"),
  ReduceMin: reduce("minimum"),
  ReduceProd: reduce("multiply"),
  ReduceL1: reduce("add", abs),
  ReduceL2: reduce("add", square, root),
  ReduceLogSum: reduce("add", undefined, log),
  ReduceLogSumExp: logSumExp,
  ReduceSumSquare: reduce("add", square),
  ...searchLowerings,
  CumSum: cumSum,
};
