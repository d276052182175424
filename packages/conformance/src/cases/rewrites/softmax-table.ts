/** Softmax, its logarithm, means and norms: as chains of simpler operators, and next to other operators. */
import { FLOATS, type Kit, loose, type PatternTable } from "./pattern.js";

const last = { axes: [1], keepdims: true };
const axis = { axis: 1 };

/** Rows of scores that are close, far apart, huge, equal, or infinite. */
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
    "log of softmax": loose(SLACK, (kit) => kit.Log(kit.Softmax(axis, rowsInRange(kit)))),
    "log of a softmax of what is far apart": loose(SLACK, (kit) =>
      kit.Log(
        kit.Softmax(
          axis,
          kit.of([2, 3], (at) => [0, 20000, -20000][at % 3] ?? 0),
        ),
      ),
    ),
    "exp of log softmax": loose(SLACK, (kit) => kit.Exp(kit.LogSoftmax(axis, rows(kit)))),
    "softmax of softmax": loose(4, (kit) => kit.Softmax(axis, kit.Softmax(axis, rows(kit)))),
    "log softmax of log softmax": loose(SLACK, (kit) =>
      kit.LogSoftmax(axis, kit.LogSoftmax(axis, rows(kit))),
    ),
    "softmax of log": loose(SLACK, (kit) => kit.Softmax(axis, kit.Log(kit.tame(4, 5)))),
    "softmax of x + 3": loose(4, (kit) => kit.Softmax(axis, kit.Add(rows(kit), kit.filled(3, 1)))),
    "softmax of x + a column": loose(4, (kit) =>
      kit.Softmax(
        axis,
        kit.Add(
          rows(kit),
          kit.of([ROWS.length, 1], (at) => (at % 2 === 0 ? 65000 : 1)),
        ),
      ),
    ),
    "exp(x) / sum(exp(x))": loose(SLACK, (kit) => {
      const e = kit.Exp(rows(kit));
      return kit.Div(e, kit.ReduceSum(last, e));
    }),
    "exp(x - max(x)) / sum": loose(SLACK, (kit) => {
      const x = rows(kit);
      const e = kit.Exp(kit.Sub(x, kit.ReduceMax(last, x)));
      return kit.Div(e, kit.ReduceSum(last, e));
    }),
    "log(sum(exp(x)))": loose(SLACK, (kit) => kit.Log(kit.ReduceSum(last, kit.Exp(rows(kit))))),
    "log-sum-exp as an operator": loose(4, (kit) => kit.ReduceLogSumExp(last, rows(kit))),
    "x - log(sum(exp(x)))": loose(SLACK, (kit) => {
      const x = rows(kit);
      return kit.Sub(x, kit.Log(kit.ReduceSum(last, kit.Exp(x))));
    }),
    "log(sum(x))": loose(SLACK, (kit) => kit.Log(kit.ReduceSum(last, kit.whole(3, 4)))),
    "sqrt(sum(x x))": loose(4, (kit) => {
      const x = kit.tame(3, 4);
      return kit.Sqrt(kit.ReduceSum(last, kit.Mul(x, x)));
    }),
    "sqrt(sum of squares) of large": loose(4, (kit) => {
      const x = kit.of([3, 4], (at) => (at + 1) * (kit.dtype === "f16" ? 300 : 2e19));
      return kit.Sqrt(kit.ReduceSum(last, kit.Mul(x, x)));
    }),
    "sum / n is the mean": loose(4, (kit) =>
      kit.Div(kit.ReduceSum(last, kit.filled(kit.dtype === "f16" ? 40000 : 2e38, 3, 4)), kit.filled(4, 1)),
    ),
    "the mean of large": loose(4, (kit) =>
      kit.ReduceMean(
        last,
        kit.of([3, 4], (at) => (kit.dtype === "f16" ? 40000 : 2 ** 125) * (at % 2 === 0 ? 0.5 : 0.25)),
      ),
    ),
    "a centered mean of squares": loose(4, (kit) => {
      const x = kit.of([3, 16], (at) => (kit.dtype === "f32" ? 4096 : 64) + (at % 2));
      const centered = kit.Sub(x, kit.ReduceMean(last, x));
      return kit.ReduceMean(last, kit.Mul(centered, centered));
    }),
    "mean of squares less the square of the mean": loose(16, (kit) => {
      const x = kit.of([3, 16], (at) => 4 + (at % 2) * 8);
      const mean = kit.ReduceMean(last, x);
      return kit.Sub(kit.ReduceMean(last, kit.Mul(x, x)), kit.Mul(mean, mean));
    }),
    "the place of the largest softmax": (kit) =>
      kit.ArgMax(
        { axis: 1, keepdims: false },
        kit.Softmax(axis, kit.listed([-20000, 0, -15000, 3, 3, 3], 2, 3)),
      ),
    "the place of the smallest softmax": (kit) =>
      kit.ArgMin({ axis: 1, keepdims: false }, kit.Softmax(axis, kit.listed([0, -20000, -30000], 1, 3))),
    "the place of the largest relu": (kit) =>
      kit.ArgMax({ axis: 1, keepdims: false }, kit.Relu(kit.listed([-3, -2, -1], 1, 3))),
    "the place of the largest floor": (kit) =>
      kit.ArgMax({ axis: 1, keepdims: false }, kit.Floor(kit.listed([1.1, 1.2, 1.3], 1, 3))),
    "sum of softmax is 1": loose(4, (kit) => kit.ReduceSum(last, kit.Softmax(axis, rows(kit)))),
    "layer normalization of layer normalization": loose(4, (kit) => {
      const normalize = (x: ReturnType<typeof rows>) =>
        kit.LayerNormalization({ axis: 1, epsilon: 0.5 }, x, kit.filled(1, 4));
      return normalize(normalize(kit.tame(3, 4)));
    }),
    "layer normalization of x + a column": loose(4, (kit) =>
      kit.LayerNormalization(
        { axis: 1, epsilon: 0.5 },
        kit.Add(
          kit.whole(3, 4),
          kit.of([3, 1], (at) => (at === 1 ? Number.NaN : 1)),
        ),
        kit.filled(1, 4),
      ),
    ),
    "layer normalization of 2 x": loose(4, (kit) =>
      kit.LayerNormalization(
        { axis: 1, epsilon: 0.5 },
        kit.Mul(kit.whole(3, 4), kit.filled(2, 1)),
        kit.filled(1, 4),
      ),
    ),
  },
};

/** Scores without probabilities of 0, whose logarithm would depend on the last bit of an exponential. */
function rowsInRange({ of }: Kit) {
  return of([3, 4], (at) => [0, 1, -2, 3, 5, 5, 5, 5, -3, -2, -1, 0][at] ?? 0);
}
