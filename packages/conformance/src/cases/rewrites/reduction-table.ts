/** Reductions of what was moved, scaled or reduced before, and chains that have an operator of their own. */
import { type DType, opDTypes, REDUCE_OPS, type ReduceOp } from "@mp/graph";
import { FLOATS, type Make, type PatternTable } from "./pattern.js";

const DTYPES: readonly DType[] = [...FLOATS, "i32", "i64"];
const over = (...axes: readonly number[]) => ({ axes, keepdims: false });
const kept = (...axes: readonly number[]) => ({ axes, keepdims: true });
const SHAPE = [3, 3, 3];

/** The same pattern for each reduction. */
const reduced = (name: string, make: (reduction: ReduceOp) => Make): PatternTable["patterns"] =>
  Object.fromEntries(
    REDUCE_OPS.map((op) => [
      `${op} ${name}`,
      {
        make: make(op),
        slack: op.includes("Log") ? 64 : 4,
        dtypes: opDTypes[op].filter((dtype) => DTYPES.includes(dtype)),
      },
    ]),
  );

export const reductionTable: PatternTable = {
  dtypes: DTYPES,
  patterns: {
    ...reduced(
      "over an axis of one",
      (op) =>
        ({ of, by }) =>
          by(
            op,
            over(1),
            of([3, 1, 4], (at) => (at % 5) - 2),
          ),
    ),
    ...reduced(
      "over an axis of one, kept",
      (op) =>
        ({ of, by }) =>
          by(
            op,
            kept(0),
            of([1, 6], (at) => (at % 5) - 2),
          ),
    ),
    ...reduced(
      "twice, over another axis",
      (op) =>
        ({ of, by }) =>
          by(op, over(0), by(op, over(1), of(SHAPE, "tame"))),
    ),
    ...reduced(
      "twice, with kept axes",
      (op) =>
        ({ of, by }) =>
          by(op, over(1), by(op, kept(0), of(SHAPE, "tame"))),
    ),
    ...reduced(
      "twice, over the same axis",
      (op) =>
        ({ of, by }) =>
          by(op, over(2), by(op, kept(2), of(SHAPE, "tame"))),
    ),
    ...reduced(
      "of a transpose",
      (op) =>
        ({ of, by }) =>
          by(op, over(0), by("Transpose", { perm: [1, 2, 0] }, of(SHAPE, "tame"))),
    ),
    ...reduced(
      "of a transpose over two axes",
      (op) =>
        ({ of, by }) =>
          by(op, over(0, 2), by("Transpose", { perm: [1, 2, 0] }, of(SHAPE, "tame"))),
    ),
    ...reduced(
      "of an expand",
      (op) =>
        ({ of, by }) =>
          by(op, over(0), by("Expand", { shape: [4, 3] }, of([3], "tame"))),
    ),
    ...reduced(
      "of an expand over the other axis",
      (op) =>
        ({ of, by }) =>
          by(op, over(1), by("Expand", { shape: [3, 3] }, of([3], "tame"))),
    ),
    ...reduced(
      "of a squeeze",
      (op) =>
        ({ of, by }) =>
          by(op, over(1), by("Squeeze", { axes: [0] }, of([1, 3, 3], "tame"))),
    ),
    ...reduced(
      "kept, then squeezed",
      (op) =>
        ({ of, by }) =>
          by("Squeeze", { axes: [1] }, by(op, kept(1), of(SHAPE, "tame"))),
    ),
    ...reduced(
      "kept, then squeezed elsewhere",
      (op) =>
        ({ of, by }) =>
          by("Squeeze", { axes: [0] }, by(op, kept(1), of([1, 3, 3], "tame"))),
    ),
    ...reduced(
      "then unsqueezed",
      (op) =>
        ({ of, by }) =>
          by("Unsqueeze", { axes: [0] }, by(op, over(1), of([3, 3], "tame"))),
    ),
    ...reduced(
      "of a concat",
      (op) =>
        ({ of, by }) =>
          by(op, over(0), by("Concat", { axis: 0 }, of([2, 3], "tame"), of([1, 3], "tame"))),
    ),
    ...reduced(
      "of a pad",
      (op) =>
        ({ of, by }) =>
          by(op, over(0), by("Pad", { pads: [1, 0, 1, 0], mode: "constant", value: 2 }, of([2, 3], "tame"))),
    ),
    ...reduced(
      "of a tile",
      (op) =>
        ({ of, by }) =>
          by(op, over(0), by("Tile", { repeats: [3, 1] }, of([2, 3], "tame"))),
    ),
    ...reduced(
      "of a reshape",
      (op) =>
        ({ of, by }) =>
          by(op, over(0), by("Reshape", { shape: [3, 4] }, of([4, 3], "tame"))),
    ),
    ...reduced(
      "of a slice",
      (op) =>
        ({ of, by }) =>
          by(op, over(0), by("Slice", { axes: [0], starts: [1], ends: [3], steps: [1] }, of([4, 3], "tame"))),
    ),
    ...reduced(
      "times 2",
      (op) =>
        ({ of, by, on }) =>
          on("Add", by(op, over(0), of([3, 3], "tame")), by(op, over(0), of([3, 3], "tame"))),
    ),
    ...reduced("of 2 x", (op) => ({ of, by, on }) => {
      const x = of([3, 3], "tame");
      return by(op, over(0), on("Add", x, x));
    }),
    ...reduced(
      "of x + a row",
      (op) =>
        ({ of, by, on }) =>
          by(op, over(0), on("Add", of([3, 3], "tame"), of([3], "tame"))),
    ),
    ...reduced(
      "of x times a row",
      (op) =>
        ({ of, by, on }) =>
          by(op, over(0), on("Mul", of([3, 3], "tame"), of([3], "tame"))),
    ),
    "the extreme of a negative": ({ of, by, on }) => by("ReduceMax", over(1), on("Neg", of([3, 4]))),
    "the negative of an extreme": ({ of, by, on }) => on("Neg", by("ReduceMin", over(1), of([3, 4]))),
    "the extreme of a product": ({ of, by, on }) =>
      by("ReduceMax", over(1), on("Mul", of([3, 4]), of([3, 1]))),
    "the extreme of a difference": ({ of, by, on }) =>
      by("ReduceMin", over(1), on("Sub", of([3, 1]), of([3, 4]))),
    "a maximum of a minimum": ({ of, by }) => by("ReduceMax", over(0), by("ReduceMin", over(1), of([3, 4]))),
    "a minimum of a maximum": ({ of, by }) => by("ReduceMin", over(0), by("ReduceMax", over(1), of([3, 4]))),
    "a sum of a maximum": ({ of, by }) => by("ReduceSum", over(0), by("ReduceMax", over(1), of([3, 4]))),
    "a maximum of a sum": ({ of, by }) => by("ReduceMax", over(0), by("ReduceSum", over(1), of([3, 4]))),
    "a sum of absolutes": {
      make: ({ of, by, on }) => by("ReduceSum", over(1), on("Abs", of([3, 4]))),
      slack: 2,
    },
    "an absolute of a sum": {
      make: ({ of, by, on }) => on("Abs", by("ReduceSum", over(1), of([3, 4]))),
      slack: 2,
    },
    "a sum of squares": ({ of, by, on }) => {
      const x = of([3, 4], "whole");
      return by("ReduceSum", over(1), on("Mul", x, x));
    },
    "a sum of products": ({ of, by, on }) =>
      by("ReduceSum", over(1), on("Mul", of([3, 4], "whole"), of([3, 4], "whole"))),
    "a sum of x 0": ({ of, by, on }) =>
      by(
        "ReduceSum",
        over(1),
        on(
          "Mul",
          of([3, 16], "edges"),
          on(
            "Sub",
            of([1], () => 1),
            of([1], () => 1),
          ),
        ),
      ),
    "a sum over two axes, one by one": ({ of, by }) =>
      by("ReduceSum", over(1), by("ReduceSum", over(0), of(SHAPE, "whole"))),
    "a sum of one operand less another": ({ of, by, on }) =>
      on("Sub", by("ReduceSum", over(0), of([3, 4], "whole")), by("ReduceSum", over(0), of([3, 4], "whole"))),
    "the place of a negative's extreme": ({ of, by, on }) =>
      by("ArgMax", { axis: 1, keepdims: false }, on("Neg", of([3, 16], "edges"))),
    "the place of a scaled extreme": ({ of, by, on }) =>
      by(
        "ArgMax",
        { axis: 1, keepdims: false },
        on(
          "Mul",
          of([3, 16], "edges"),
          of([1], () => 2),
        ),
      ),
    "the place of an extreme of a sum": ({ of, by, on }) =>
      by("ArgMin", { axis: 1, keepdims: false }, on("Add", of([3, 16], "edges"), of([16], "edges"))),
    "a cumulative sum of a cumulative sum": ({ of, by }) =>
      by(
        "CumSum",
        { axis: 0, exclusive: false, reverse: false },
        by("CumSum", { axis: 0, exclusive: false, reverse: false }, of([5], "whole")),
      ),
    "a cumulative sum and back": ({ of, by }) =>
      by(
        "CumSum",
        { axis: 0, exclusive: false, reverse: true },
        by("CumSum", { axis: 0, exclusive: false, reverse: false }, of([5], "whole")),
      ),
    "a cumulative sum of what is backwards": ({ of, by }) =>
      by(
        "CumSum",
        { axis: 0, exclusive: false, reverse: false },
        by("Slice", { axes: [0], starts: [4], ends: [-1], steps: [-1] }, of([5], "whole")),
      ),
    "the highest of the highest": ({ of, by }) =>
      by("TopK", { axis: 1, k: 2, largest: true }, by("TopK", { axis: 1, k: 4, largest: true }, of([3, 6]))),
    "the lowest of the highest": ({ of, by }) =>
      by("TopK", { axis: 1, k: 2, largest: false }, by("TopK", { axis: 1, k: 4, largest: true }, of([3, 6]))),
    "the highest of a negative": ({ of, by, on }) =>
      by("TopK", { axis: 1, k: 2, largest: true }, on("Neg", of([3, 6]))),
  },
};
