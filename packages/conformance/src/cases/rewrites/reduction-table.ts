/** Reductions of moved, scaled or reduced values, and chains for which there is a single operator. */
import { type DType, opDTypes, REDUCE_OPS, type ReduceOp, type Value } from "@mp/graph";
import { FLOATS, type Kit, loose, type PatternTable } from "./pattern.js";

const DTYPES: readonly DType[] = [...FLOATS, "i32", "i64"];
const over = (...axes: readonly number[]) => ({ axes, keepdims: false });
const keepAxes = (...axes: readonly number[]) => ({ axes, keepdims: true });
const SHAPE = [3, 3, 3];

/** Makes each pattern for each reduction. */
const eachReduction = (
  makes: Readonly<Record<string, (reduction: ReduceOp, kit: Kit) => Value>>,
): PatternTable["patterns"] =>
  Object.fromEntries(
    Object.entries(makes).flatMap(([name, make]) =>
      REDUCE_OPS.map((op) => [
        `${op} ${name}`,
        {
          make: (kit: Kit) => make(op, kit),
          slack: op.includes("Log") ? 64 : 4,
          dtypes: opDTypes[op].filter((dtype) => DTYPES.includes(dtype)),
        },
      ]),
    ),
  );

export const reductionTable: PatternTable = {
  dtypes: DTYPES,
  patterns: {
    ...eachReduction({
      "over an axis of one": (op, { of, by }) =>
        by(
          op,
          over(1),
          of([3, 1, 4], (at) => (at % 5) - 2),
        ),
      "over an axis of one, kept": (op, { of, by }) =>
        by(
          op,
          keepAxes(0),
          of([1, 6], (at) => (at % 5) - 2),
        ),
      "twice, over another axis": (op, { by, tame }) => by(op, over(0), by(op, over(1), tame(...SHAPE))),
      "twice, with kept axes": (op, { by, tame }) => by(op, over(1), by(op, keepAxes(0), tame(...SHAPE))),
      "twice, over the same axis": (op, { by, tame }) => by(op, over(2), by(op, keepAxes(2), tame(...SHAPE))),
      "of a transpose": (op, { by, tame, Transpose }) =>
        by(op, over(0), Transpose({ perm: [1, 2, 0] }, tame(...SHAPE))),
      "of a transpose over two axes": (op, { by, tame, Transpose }) =>
        by(op, over(0, 2), Transpose({ perm: [1, 2, 0] }, tame(...SHAPE))),
      "of an expand": (op, { by, tame, Expand }) => by(op, over(0), Expand({ shape: [4, 3] }, tame(3))),
      "of an expand over the other axis": (op, { by, tame, Expand }) =>
        by(op, over(1), Expand({ shape: [3, 3] }, tame(3))),
      "of a squeeze": (op, { by, tame, Squeeze }) => by(op, over(1), Squeeze({ axes: [0] }, tame(1, 3, 3))),
      "kept, then squeezed": (op, { by, tame, Squeeze }) =>
        Squeeze({ axes: [1] }, by(op, keepAxes(1), tame(...SHAPE))),
      "kept, then squeezed elsewhere": (op, { by, tame, Squeeze }) =>
        Squeeze({ axes: [0] }, by(op, keepAxes(1), tame(1, 3, 3))),
      "then unsqueezed": (op, { by, tame, Unsqueeze }) =>
        Unsqueeze({ axes: [0] }, by(op, over(1), tame(3, 3))),
      "of a concat": (op, { by, tame, Concat }) =>
        by(op, over(0), Concat({ axis: 0 }, tame(2, 3), tame(1, 3))),
      "of a pad": (op, { by, tame, Pad }) =>
        by(op, over(0), Pad({ pads: [1, 0, 1, 0], mode: "constant", value: 2 }, tame(2, 3))),
      "of a tile": (op, { by, tame, Tile }) => by(op, over(0), Tile({ repeats: [3, 1] }, tame(2, 3))),
      "of a reshape": (op, { by, tame, Reshape }) => by(op, over(0), Reshape({ shape: [3, 4] }, tame(4, 3))),
      "of a slice": (op, { by, tame, Slice }) =>
        by(op, over(0), Slice({ axes: [0], starts: [1], ends: [3], steps: [1] }, tame(4, 3))),
      "times 2": (op, { by, tame, Add }) => Add(by(op, over(0), tame(3, 3)), by(op, over(0), tame(3, 3))),
      "of 2 x": (op, { by, tame, Add }) => {
        const x = tame(3, 3);
        return by(op, over(0), Add(x, x));
      },
      "of x + a row": (op, { by, tame, Add }) => by(op, over(0), Add(tame(3, 3), tame(3))),
      "of x times a row": (op, { by, tame, Mul }) => by(op, over(0), Mul(tame(3, 3), tame(3))),
    }),
    "the extreme of a negative": ({ of, Neg, ReduceMax }) => ReduceMax(over(1), Neg(of([3, 4]))),
    "the negative of an extreme": ({ of, ReduceMin, Neg }) => Neg(ReduceMin(over(1), of([3, 4]))),
    "the extreme of a product": ({ of, Mul, ReduceMax }) => ReduceMax(over(1), Mul(of([3, 4]), of([3, 1]))),
    "the extreme of a difference": ({ of, Sub, ReduceMin }) =>
      ReduceMin(over(1), Sub(of([3, 1]), of([3, 4]))),
    "a maximum of a minimum": ({ of, ReduceMin, ReduceMax }) =>
      ReduceMax(over(0), ReduceMin(over(1), of([3, 4]))),
    "a minimum of a maximum": ({ of, ReduceMax, ReduceMin }) =>
      ReduceMin(over(0), ReduceMax(over(1), of([3, 4]))),
    "a sum of a maximum": ({ of, ReduceMax, ReduceSum }) =>
      ReduceSum(over(0), ReduceMax(over(1), of([3, 4]))),
    "a maximum of a sum": ({ of, ReduceSum, ReduceMax }) =>
      ReduceMax(over(0), ReduceSum(over(1), of([3, 4]))),
    "a sum of absolutes": loose(2, ({ of, Abs, ReduceSum }) => ReduceSum(over(1), Abs(of([3, 4])))),
    "an absolute of a sum": loose(2, ({ of, ReduceSum, Abs }) => Abs(ReduceSum(over(1), of([3, 4])))),
    "a sum of squares": ({ whole, Mul, ReduceSum }) => {
      const x = whole(3, 4);
      return ReduceSum(over(1), Mul(x, x));
    },
    "a sum of products": ({ whole, Mul, ReduceSum }) => ReduceSum(over(1), Mul(whole(3, 4), whole(3, 4))),
    "a sum of x 0": ({ edges, filled, Sub, Mul, ReduceSum }) =>
      ReduceSum(over(1), Mul(edges(3, 16), Sub(filled(1, 1), filled(1, 1)))),
    "a sum over two axes, one by one": ({ whole, ReduceSum }) =>
      ReduceSum(over(1), ReduceSum(over(0), whole(...SHAPE))),
    "a sum of one operand less another": ({ whole, ReduceSum, Sub }) =>
      Sub(ReduceSum(over(0), whole(3, 4)), ReduceSum(over(0), whole(3, 4))),
    "the place of a negative's extreme": ({ edges, Neg, ArgMax }) =>
      ArgMax({ axis: 1, keepdims: false }, Neg(edges(3, 16))),
    "the place of a scaled extreme": ({ edges, filled, Mul, ArgMax }) =>
      ArgMax({ axis: 1, keepdims: false }, Mul(edges(3, 16), filled(2, 1))),
    "the place of an extreme of a sum": ({ edges, Add, ArgMin }) =>
      ArgMin({ axis: 1, keepdims: false }, Add(edges(3, 16), edges(16))),
    "a cumulative sum of a cumulative sum": ({ whole, CumSum }) =>
      CumSum(
        { axis: 0, exclusive: false, reverse: false },
        CumSum({ axis: 0, exclusive: false, reverse: false }, whole(5)),
      ),
    "a cumulative sum and back": ({ whole, CumSum }) =>
      CumSum(
        { axis: 0, exclusive: false, reverse: true },
        CumSum({ axis: 0, exclusive: false, reverse: false }, whole(5)),
      ),
    "a cumulative sum of what is backwards": ({ whole, Slice, CumSum }) =>
      CumSum(
        { axis: 0, exclusive: false, reverse: false },
        Slice({ axes: [0], starts: [4], ends: [-1], steps: [-1] }, whole(5)),
      ),
    "the highest of the highest": ({ of, TopK }) =>
      TopK({ axis: 1, k: 2, largest: true }, TopK({ axis: 1, k: 4, largest: true }, of([3, 6]))),
    "the lowest of the highest": ({ of, TopK }) =>
      TopK({ axis: 1, k: 2, largest: false }, TopK({ axis: 1, k: 4, largest: true }, of([3, 6]))),
    "the highest of a negative": ({ of, Neg, TopK }) =>
      TopK({ axis: 1, k: 2, largest: true }, Neg(of([3, 6]))),
  },
};
