/** Searches along one axis. NaN counts as larger than every number; of equal elements the first wins. */
import { type ArgOp, isFloat } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { reduce, reduceKept } from "../stablehlo/fold.js";
import { dtypeOf, type Operand, shapeOf } from "../stablehlo/operand.js";
import { stableSort } from "../stablehlo/sort.js";
import { type Lowering, type LoweringTable, resultType } from "./lowering.js";

/** Finds the first element that equals the extreme or is NaN; any NaN makes the extreme NaN. */
const argReduce =
  (extreme: "maximum" | "minimum"): Lowering<ArgOp> =>
  (emitter, node, [x]) => {
    const axes = [node.attributes.axis];
    const best = emitter.expand(reduceKept(emitter, extreme, x, axes), shapeOf(x));
    const isBest = emitter.compare("EQ", x, best);
    const isFound = isFloat(dtypeOf(x)) ? emitter.binary("or", isBest, emitter.compare("NE", x, x)) : isBest;
    const places = emitter.iota("i32", shapeOf(x), node.attributes.axis);
    const found = reduce(emitter, "minimum", emitter.select(isFound, places, 2 ** 31 - 1), axes);
    return [emitter.reshape(found, resultType(node).shape)];
  };

/** Whether `a` sorts before `b`: larger elements first and NaN before all; reversed without `largest`. */
function comesBefore(emitter: Emitter, a: Operand, b: Operand, largest: boolean): Operand {
  if (!largest) return comesBefore(emitter, b, a, true);
  const isMore = emitter.compare("GT", a, b);
  if (!isFloat(dtypeOf(a))) return isMore;
  const onlyFirst = emitter.binary("and", emitter.compare("NE", a, a), emitter.compare("EQ", b, b));
  return emitter.binary("or", isMore, onlyFirst);
}

/** Sorts the elements with their positions, stably, and keeps the first k. */
const topK: Lowering<"TopK"> = (emitter, node, [x]) => {
  const { axis, k, largest } = node.attributes;
  const pair = [x, emitter.iota("i32", shapeOf(x), axis)];
  const sorted = stableSort(emitter, pair, axis, (a, b) => comesBefore(emitter, a, b, largest));
  return sorted.map((values) => emitter.sliceAxis(values, axis, 0, k));
};

export const searchLowerings: LoweringTable<ArgOp | "TopK"> = {
  ArgMax: argReduce("maximum"),
  ArgMin: argReduce("minimum"),
  TopK: topK,
};
