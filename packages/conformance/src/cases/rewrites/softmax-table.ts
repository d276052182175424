/** Softmax, its logarithm, means and norms as chains of simpler operators, and around others. */
import { FLOATS, type Kit, type PatternTable } from "./pattern.js";

const last = { axes: [1], keepdims: true };
const axis = { axis: 1 };

/** Rows that are near, far apart, huge, equal, and with an infinity. */
const ROWS: readonly (readonly number[])[] = [
  [1, 2, 3, 4],
  [10, 0, -10, 10],
  [300, 301, 299, 300],
  [-300, -301, -299, -300],
  [20000, -20000, 19999, 20000],
  [7, 7, 7, 7],
  [Number.NEGATIVE_INFINITY, 0, 1, 2],
  [0, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY],
  [0, Number.NaN, 1, 2],
  [-30, 0, -60, -90],
];
const rows = ({ of }: Kit) => of([ROWS.length, 4], (at) => ROWS[at >> 2]?.[at % 4] ?? 0);
const SLACK = 64;

export const softmaxTable: PatternTable = {
  dtypes: FLOATS,
  patterns: {
    "log of softmax": {
      make: (kit) => kit.on("Log", kit.by("Softmax", axis, rowsInRange(kit))),
      slack: SLACK,
    },
    "log of a softmax of what is far apart": {
      make: (kit) =>
        kit.on(
          "Log",
          kit.by(
            "Softmax",
            axis,
            kit.of([2, 3], (at) => [0, 20000, -20000][at % 3] ?? 0),
          ),
        ),
      slack: SLACK,
    },
    "exp of log softmax": {
      make: (kit) => kit.on("Exp", kit.by("LogSoftmax", axis, rows(kit))),
      slack: SLACK,
    },
    "softmax of softmax": {
      make: (kit) => kit.by("Softmax", axis, kit.by("Softmax", axis, rows(kit))),
      slack: 4,
    },
    "log softmax of log softmax": {
      make: (kit) => kit.by("LogSoftmax", axis, kit.by("LogSoftmax", axis, rows(kit))),
      slack: SLACK,
    },
    "softmax of log": {
      make: (kit) => kit.by("Softmax", axis, kit.on("Log", kit.of([4, 5], "tame"))),
      slack: SLACK,
    },
    "softmax of x + 3": {
      make: (kit) =>
        kit.by(
          "Softmax",
          axis,
          kit.on(
            "Add",
            rows(kit),
            kit.of([1], () => 3),
          ),
        ),
      slack: 4,
    },
    "softmax of x + a column": {
      make: (kit) =>
        kit.by(
          "Softmax",
          axis,
          kit.on(
            "Add",
            rows(kit),
            kit.of([ROWS.length, 1], (at) => (at % 2 === 0 ? 65000 : 1)),
          ),
        ),
      slack: 4,
    },
    "exp(x) / sum(exp(x))": {
      make: (kit) => {
        const e = kit.on("Exp", rows(kit));
        return kit.on("Div", e, kit.by("ReduceSum", last, e));
      },
      slack: SLACK,
    },
    "exp(x - max(x)) / sum": {
      make: (kit) => {
        const x = rows(kit);
        const e = kit.on("Exp", kit.on("Sub", x, kit.by("ReduceMax", last, x)));
        return kit.on("Div", e, kit.by("ReduceSum", last, e));
      },
      slack: SLACK,
    },
    "log(sum(exp(x)))": {
      make: (kit) => kit.on("Log", kit.by("ReduceSum", last, kit.on("Exp", rows(kit)))),
      slack: SLACK,
    },
    "log-sum-exp as an operator": { make: (kit) => kit.by("ReduceLogSumExp", last, rows(kit)), slack: 4 },
    "x - log(sum(exp(x)))": {
      make: (kit) => {
        const x = rows(kit);
        return kit.on("Sub", x, kit.on("Log", kit.by("ReduceSum", last, kit.on("Exp", x))));
      },
      slack: SLACK,
    },
    "log(sum(x))": {
      make: (kit) => kit.on("Log", kit.by("ReduceSum", last, kit.of([3, 4], "whole"))),
      slack: SLACK,
    },
    "sqrt(sum(x x))": {
      make: (kit) => {
        const x = kit.of([3, 4], "tame");
        return kit.on("Sqrt", kit.by("ReduceSum", last, kit.on("Mul", x, x)));
      },
      slack: 4,
    },
    "sqrt(sum of squares) of large": {
      make: (kit) => {
        const x = kit.of([3, 4], (at) => (at + 1) * (kit.dtype === "f16" ? 300 : 2e19));
        return kit.on("Sqrt", kit.by("ReduceSum", last, kit.on("Mul", x, x)));
      },
      slack: 4,
    },
    "sum / n is the mean": {
      make: (kit) =>
        kit.on(
          "Div",
          kit.by(
            "ReduceSum",
            last,
            kit.of([3, 4], () => (kit.dtype === "f16" ? 40000 : 2e38)),
          ),
          kit.of([1], () => 4),
        ),
      slack: 4,
    },
    "the mean of large": {
      make: (kit) =>
        kit.by(
          "ReduceMean",
          last,
          kit.of([3, 4], (at) => (kit.dtype === "f16" ? 40000 : 2 ** 125) * (at % 2 === 0 ? 0.5 : 0.25)),
        ),
      slack: 4,
    },
    "a centered mean of squares": {
      make: (kit) => {
        const x = kit.of([3, 16], (at) => (kit.dtype === "f32" ? 4096 : 64) + (at % 2));
        const centered = kit.on("Sub", x, kit.by("ReduceMean", last, x));
        return kit.by("ReduceMean", last, kit.on("Mul", centered, centered));
      },
      slack: 4,
    },
    "mean of squares less the square of the mean": {
      make: (kit) => {
        const x = kit.of([3, 16], (at) => 4 + (at % 2) * 8);
        const mean = kit.by("ReduceMean", last, x);
        return kit.on("Sub", kit.by("ReduceMean", last, kit.on("Mul", x, x)), kit.on("Mul", mean, mean));
      },
      slack: 16,
    },
    "the place of the largest softmax": (kit) =>
      kit.by(
        "ArgMax",
        { axis: 1, keepdims: false },
        kit.by(
          "Softmax",
          axis,
          kit.of([2, 3], (at) => [-20000, 0, -15000, 3, 3, 3][at] ?? 0),
        ),
      ),
    "the place of the smallest softmax": (kit) =>
      kit.by(
        "ArgMin",
        { axis: 1, keepdims: false },
        kit.by(
          "Softmax",
          axis,
          kit.of([1, 3], (at) => [0, -20000, -30000][at] ?? 0),
        ),
      ),
    "the place of the largest relu": (kit) =>
      kit.by(
        "ArgMax",
        { axis: 1, keepdims: false },
        kit.on(
          "Relu",
          kit.of([1, 3], (at) => [-3, -2, -1][at] ?? 0),
        ),
      ),
    "the place of the largest floor": (kit) =>
      kit.by(
        "ArgMax",
        { axis: 1, keepdims: false },
        kit.on(
          "Floor",
          kit.of([1, 3], (at) => [1.1, 1.2, 1.3][at] ?? 0),
        ),
      ),
    "sum of softmax is 1": {
      make: (kit) => kit.by("ReduceSum", last, kit.by("Softmax", axis, rows(kit))),
      slack: 4,
    },
    "layer normalization of layer normalization": {
      make: (kit) => {
        const normalized = (x: ReturnType<typeof rows>) =>
          kit.by(
            "LayerNormalization",
            { axis: 1, epsilon: 0.5 },
            x,
            kit.of([4], () => 1),
          );
        return normalized(normalized(kit.of([3, 4], "tame")));
      },
      slack: 4,
    },
    "layer normalization of x + a column": {
      make: (kit) =>
        kit.by(
          "LayerNormalization",
          { axis: 1, epsilon: 0.5 },
          kit.on(
            "Add",
            kit.of([3, 4], "whole"),
            kit.of([3, 1], (at) => (at === 1 ? Number.NaN : 1)),
          ),
          kit.of([4], () => 1),
        ),
      slack: 4,
    },
    "layer normalization of 2 x": {
      make: (kit) =>
        kit.by(
          "LayerNormalization",
          { axis: 1, epsilon: 0.5 },
          kit.on(
            "Mul",
            kit.of([3, 4], "whole"),
            kit.of([1], () => 2),
          ),
          kit.of([4], () => 1),
        ),
      slack: 4,
    },
  },
};

/** Without zeros among the shares, whose logarithm depends on the last bit of an exponential. */
function rowsInRange({ of }: Kit) {
  return of([3, 4], (at) => [0, 1, -2, 3, 5, 5, 5, 5, -3, -2, -1, 0][at] ?? 0);
}
