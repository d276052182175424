import type { OpOf, ReduceOp } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { foldWindows, reduce, reduceKept } from "../stablehlo/fold.js";
import type { FoldOp } from "../stablehlo/neutral.js";
import { count, dtypeOf, type Operand, rankOf, repeated, shapeOf, sizeOf } from "../stablehlo/operand.js";
import { rowMajor } from "../stablehlo/row-major.js";
import { inF32, type Lowering, type LoweringTable, resultType } from "./lowering.js";
import { mean } from "./normalization.js";
import { searchLowerings } from "./search.js";

type Step = (emitter: Emitter, x: Operand) => Operand;

/** Lowers a reduction to after(fold(before(x))); half dtypes are computed in f32. */
function reduction(fold: FoldOp, before?: Step, after?: Step): Lowering<ReduceOp> {
  return inF32((emitter, node, [x]) => {
    const { axes } = node.attributes;
    const terms = before?.(emitter, x) ?? x;
    // Without row-major order, XLA would put summed axes last in memory, in all values that x is computed from too.
    const rank = rankOf(x) - axes.length;
    const isReordered = rank > 1 && axes.some((axis) => axis < rank);
    const folded = reduce(emitter, fold, isReordered ? rowMajor(emitter, terms) : terms, axes);
    return [emitter.reshape(after?.(emitter, folded) ?? folded, resultType(node).shape)];
  });
}

const abs: Step = (emitter, x) => emitter.unary("abs", x);
const square: Step = (emitter, x) => emitter.binary("multiply", x, x);
const log: Step = (emitter, x) => emitter.unary("log", x);
const root: Step = (emitter, x) => emitter.unary("sqrt", x);

/** log Σ exp(x - m) + m, where m is the maximum if that is finite, else 0; no intermediate overflows. */
const logSumExp: Lowering<"ReduceLogSumExp"> = inF32((emitter, node, [x]) => {
  const { axes } = node.attributes;
  const most = reduceKept(emitter, "maximum", x, axes);
  const isTame = emitter.compare("LT", emitter.unary("abs", most), Number.POSITIVE_INFINITY);
  const shift = emitter.select(isTame, most, 0);
  const powers = emitter.unary(
    "exponential",
    emitter.binary("subtract", x, emitter.expand(shift, shapeOf(x))),
  );
  const sum = emitter.unary("log", reduceKept(emitter, "add", powers, axes));
  return [emitter.reshape(emitter.binary("add", sum, shift), resultType(node).shape)];
});

/** Sums, for each element, a window that ends (with `reverse`: begins) there; XLA computes this as a tree. */
const cumSum: Lowering<"CumSum"> = inF32((emitter, node, [x]) => {
  const { axis, exclusive, reverse } = node.attributes;
  const size = sizeOf(x, axis);
  if (count(shapeOf(x)) === 0) return [x];
  const rank = shapeOf(x).length;
  const zero = emitter.splat(dtypeOf(x), 0);
  const [ones, none] = [repeated(1, rank), repeated(0, rank)];
  const [inside, outside] = [none, none.with(axis, size - 1)];
  const [before, after] = reverse ? [inside, outside] : [outside, inside];
  const windows = { sizes: ones.with(axis, size), strides: ones, dilations: ones, before, after };
  const [sums = x] = foldWindows(emitter, [[x], [zero]], shapeOf(x), windows, ([a], [b]) =>
    a && b ? [emitter.binary("add", a, b)] : [],
  );
  if (!exclusive) return [sums];
  const shift = repeated(0, rank).with(axis, 1);
  const back = shift.map((by) => -by);
  return [reverse ? emitter.pad(sums, zero, back, shift) : emitter.pad(sums, zero, shift, back)];
});

export const reduceLowerings: LoweringTable<OpOf<"reduce">> = {
  ReduceSum: reduction("add"),
  ReduceMean: inF32((emitter, node, [x]) => [
    emitter.reshape(mean(emitter, x, node.attributes.axes), resultType(node).shape),
  ]),
  ReduceMax: reduction("maximum"),
  ReduceMin: reduction("minimum"),
  ReduceProd: reduction("multiply"),
  ReduceL1: reduction("add", abs),
  ReduceL2: reduction("add", square, root),
  ReduceLogSum: reduction("add", undefined, log),
  ReduceLogSumExp: logSumExp,
  ReduceSumSquare: reduction("add", square),
  ...searchLowerings,
  CumSum: cumSum,
};
