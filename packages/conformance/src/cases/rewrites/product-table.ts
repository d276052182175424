/** Products of matrices, convolutions and pools with what optimizers fold into them. Their sums are exact in any order. */
import { FLOATS, type Kit, type PatternTable } from "./pattern.js";

const turned = { perm: [1, 0] };
const gemm = { transA: false, transB: false, alpha: 1, beta: 1 };
const window = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], group: 1 };
const pool = { kernelShape: [2, 2], strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], ceilMode: false };
const padded = (value: number, mode: "constant" | "edge" = "constant") => ({
  pads: [0, 0, 1, 1, 0, 0, 1, 1],
  mode,
  value,
});
const identity = ({ of }: Kit, size: number) => of([size, size], (at) => (at % (size + 1) === 0 ? 1 : 0));
/** Its square is beyond f16, and its fourth power beyond f32. */
const large = ({ dtype }: Kit): number => (dtype === "f16" ? 2 ** 9 : 2 ** 65);
const inverse = (kit: Kit): number => 1 / large(kit);
const alternating = (x: number) => (at: number) => (at % 2 === 0 ? x : -x);

export const matrixTable: PatternTable = {
  dtypes: FLOATS,
  patterns: {
    "(A B) C is A (B C)": ({ of, on }) =>
      on("MatMul", on("MatMul", of([3, 3], "whole"), of([3, 3], "whole")), of([3, 3], "whole")),
    "(A B) C overflows": (kit) =>
      kit.on(
        "MatMul",
        kit.on(
          "MatMul",
          kit.of([2, 2], () => large(kit)),
          kit.of([2, 2], () => large(kit)),
        ),
        kit.of([2, 2], () => inverse(kit)),
      ),
    "A (B C) overflows": (kit) =>
      kit.on(
        "MatMul",
        kit.of([2, 2], () => inverse(kit)),
        kit.on(
          "MatMul",
          kit.of([2, 2], () => large(kit)),
          kit.of([2, 2], () => large(kit)),
        ),
      ),
    "A (B C) cancels": (kit) =>
      kit.on(
        "MatMul",
        kit.of([2, 2], () => large(kit)),
        kit.on(
          "MatMul",
          kit.of([2, 2], () => large(kit)),
          kit.of([2, 2], (at) => (at < 2 ? 1 : -1)),
        ),
      ),
    "(A B) C with an infinity": ({ of, on }) =>
      on(
        "MatMul",
        on(
          "MatMul",
          of([2, 2], (at) => (at === 0 ? Number.POSITIVE_INFINITY : 1)),
          of([2, 2], () => 1),
        ),
        of([2, 2], (at) => at % 2),
      ),
    "c (A B) is (c A) B": {
      make: (kit) =>
        kit.on(
          "Mul",
          kit.on(
            "MatMul",
            kit.of([2, 2], () => large(kit)),
            kit.of([2, 2], () => large(kit)),
          ),
          kit.of([], () => inverse(kit)),
        ),
      rescales: true,
    },
    "(c A) B is c (A B)": {
      make: (kit) =>
        kit.on(
          "MatMul",
          kit.on(
            "Mul",
            kit.of([2, 2], () => large(kit)),
            kit.of([], () => inverse(kit)),
          ),
          kit.of([2, 2], () => large(kit)),
        ),
      rescales: true,
    },
    "A (c B) is c (A B)": {
      make: (kit) =>
        kit.on(
          "MatMul",
          kit.of([2, 2], () => large(kit)),
          kit.on(
            "Mul",
            kit.of([2, 2], () => large(kit)),
            kit.of([], () => inverse(kit)),
          ),
        ),
      rescales: true,
    },
    "0 (A B) is 0": ({ of, on }) =>
      on(
        "Mul",
        on(
          "MatMul",
          of([2, 2], () => Number.POSITIVE_INFINITY),
          of([2, 2], () => 1),
        ),
        of([], () => 0),
      ),
    "A B / c is A (B / c)": {
      make: (kit) =>
        kit.on(
          "Div",
          kit.on(
            "MatMul",
            kit.of([2, 2], () => large(kit)),
            kit.of([2, 2], () => large(kit)),
          ),
          kit.of([], () => large(kit)),
        ),
      rescales: true,
    },
    "A B + A C is A (B + C)": (kit) => {
      const a = kit.of([2, 2], () => large(kit));
      const b = (x: number) =>
        kit.on(
          "MatMul",
          a,
          kit.of([2, 2], () => x * large(kit)),
        );
      return kit.on("Add", b(1), b(-1));
    },
    "A (B + C) is A B + A C": (kit) =>
      kit.on(
        "MatMul",
        kit.of([2, 2], () => large(kit)),
        kit.on(
          "Add",
          kit.of([2, 2], () => large(kit)),
          kit.of([2, 2], () => -large(kit)),
        ),
      ),
    "A C + B C is (A + B) C": ({ of, on }) => {
      const c = of([3, 3], "whole");
      return on("Add", on("MatMul", of([3, 3], "whole"), c), on("MatMul", of([3, 3], "whole"), c));
    },
    "A times the identity is A": (kit) =>
      kit.on(
        "MatMul",
        kit.of([3, 3], (at) => (at === 4 ? Number.NaN : at)),
        identity(kit, 3),
      ),
    "the identity times A is A": (kit) =>
      kit.on(
        "MatMul",
        identity(kit, 3),
        kit.of([3, 3], (at) => (at === 4 ? Number.POSITIVE_INFINITY : at)),
      ),
    "A times zeros is zeros": (kit) =>
      kit.on(
        "MatMul",
        kit.of([3, 3], (at) => (at === 4 ? Number.NaN : at)),
        kit.of([3, 3], () => 0),
      ),
    "zeros times A are zeros": (kit) =>
      kit.on(
        "MatMul",
        kit.of([3, 3], () => 0),
        kit.of([3, 3], (at) => (at === 4 ? Number.NEGATIVE_INFINITY : at)),
      ),
    "A times ones is a sum": ({ of, on }) =>
      on(
        "MatMul",
        of([3, 5], "whole"),
        of([5, 1], () => 1),
      ),
    "A' B": ({ of, on, by }) =>
      on("MatMul", by("Transpose", turned, of([3, 3], "whole")), of([3, 3], "whole")),
    "A B'": ({ of, on, by }) =>
      on("MatMul", of([3, 3], "whole"), by("Transpose", turned, of([3, 3], "whole"))),
    "A' B'": ({ of, on, by }) =>
      on(
        "MatMul",
        by("Transpose", turned, of([3, 3], "whole")),
        by("Transpose", turned, of([3, 3], "whole")),
      ),
    "(A B)'": ({ of, on, by }) =>
      by("Transpose", turned, on("MatMul", of([3, 3], "whole"), of([3, 3], "whole"))),
    "A A'": ({ of, on, by }) => {
      const a = of([3, 3], "whole");
      return on("MatMul", a, by("Transpose", turned, a));
    },
    "A' A": ({ of, on, by }) => {
      const a = of([3, 3], "whole");
      return on("MatMul", by("Transpose", turned, a), a);
    },
    "A A": ({ of, on }) => {
      const a = of([3, 3], "whole");
      return on("MatMul", a, a);
    },
    "A'' B": ({ of, on, by }) =>
      on(
        "MatMul",
        by("Transpose", turned, by("Transpose", turned, of([3, 3], "whole"))),
        of([3, 3], "whole"),
      ),
    "batches, transposed inside": ({ of, on, by }) =>
      on("MatMul", by("Transpose", { perm: [0, 2, 1] }, of([3, 3, 3], "whole")), of([3, 3, 3], "whole")),
    "batches, the first axis moved": ({ of, on, by }) =>
      on("MatMul", by("Transpose", { perm: [1, 0, 2] }, of([3, 3, 3], "whole")), of([3, 3, 3], "whole")),
    "batches, all axes moved": ({ of, on, by }) =>
      on("MatMul", of([3, 3, 3], "whole"), by("Transpose", { perm: [2, 0, 1] }, of([3, 3, 3], "whole"))),
    "batches, reversed axes": ({ of, on, by }) =>
      on(
        "MatMul",
        by("Transpose", { perm: [2, 1, 0] }, of([3, 3, 3], "whole")),
        by("Transpose", { perm: [1, 2, 0] }, of([3, 3, 3], "whole")),
      ),
    "a reshape to a matrix and back": ({ of, on, by }) =>
      by(
        "Reshape",
        { shape: [3, 2, 2] },
        on("MatMul", by("Reshape", { shape: [6, 2] }, of([3, 2, 2], "whole")), of([2, 2], "whole")),
      ),
    "a product of an expand": ({ of, on, by }) =>
      on("MatMul", by("Expand", { shape: [2, 3, 3] }, of([3, 3], "whole")), of([2, 3, 3], "whole")),
    "a product of a slice": ({ of, on, by }) =>
      on(
        "MatMul",
        by("Slice", { axes: [0], starts: [1], ends: [4], steps: [1] }, of([5, 3], "whole")),
        of([3, 3], "whole"),
      ),
    "a slice of a product": ({ of, on, by }) =>
      by(
        "Slice",
        { axes: [1], starts: [1], ends: [3], steps: [1] },
        on("MatMul", of([3, 3], "whole"), of([3, 4], "whole")),
      ),
    "a concat of products": ({ of, on, by }) => {
      const a = of([3, 3], "whole");
      return by(
        "Concat",
        { axis: 1 },
        on("MatMul", a, of([3, 2], "whole")),
        on("MatMul", a, of([3, 3], "whole")),
      );
    },
    "a concat of products of one right operand": ({ of, on, by }) => {
      const b = of([3, 2], "whole");
      return by(
        "Concat",
        { axis: 0 },
        on("MatMul", of([2, 3], "whole"), b),
        on("MatMul", of([1, 3], "whole"), b),
      );
    },
    "a product of a concat": ({ of, on, by }) =>
      on("MatMul", by("Concat", { axis: 1 }, of([3, 1], "whole"), of([3, 2], "whole")), of([3, 3], "whole")),
    "relu before a product": ({ of, on }) =>
      on("MatMul", on("Relu", of([3, 3], "whole")), of([3, 3], "whole")),
    "relu of a product": ({ of, on }) => on("Relu", on("MatMul", of([3, 3], "whole"), of([3, 3], "whole"))),
    "relu of a product + a row": ({ of, on }) =>
      on("Relu", on("Add", on("MatMul", of([3, 3], "whole"), of([3, 3], "whole")), of([3], "whole"))),
    "relu of a product, + a row": ({ of, on }) =>
      on("Add", on("Relu", on("MatMul", of([3, 3], "whole"), of([3, 3], "whole"))), of([3], "whole")),
    "a product less a row": ({ of, on }) =>
      on("Sub", on("MatMul", of([3, 3], "whole"), of([3, 3], "whole")), of([3], "whole")),
    "a row less a product": ({ of, on }) =>
      on("Sub", of([3], "whole"), on("MatMul", of([3, 3], "whole"), of([3, 3], "whole"))),
    "a product + a column": ({ of, on }) =>
      on("Add", on("MatMul", of([3, 3], "whole"), of([3, 3], "whole")), of([3, 1], "whole")),
    "a product of one row + a matrix": ({ of, on }) =>
      on("Add", on("MatMul", of([1, 3], "whole"), of([3, 3], "whole")), of([3, 3], "whole")),
    "a product in a half + a number beyond it": (kit) =>
      kit.on(
        "Add",
        kit.on(
          "MatMul",
          kit.of([2, 2], () => large(kit)),
          kit.of([2, 2], () => large(kit)),
        ),
        kit.of([2], alternating(kit.dtype === "f16" ? 60000 : 2 ** 127)),
      ),
    "gemm of a transpose": ({ of, by }) =>
      by(
        "Gemm",
        { ...gemm, transA: true },
        by("Transpose", turned, of([3, 3], "whole")),
        of([3, 3], "whole"),
        of([3], "whole"),
      ),
    "gemm of a gemm": ({ of, by }) =>
      by(
        "Gemm",
        gemm,
        by("Gemm", gemm, of([3, 3], "whole"), of([3, 3], "whole"), of([3], "whole")),
        of([3, 3], "whole"),
        of([3, 1], "whole"),
      ),
    "gemm + a row": ({ of, by, on }) =>
      on(
        "Add",
        by(
          "Gemm",
          { ...gemm, alpha: 2, beta: 0.5 },
          of([3, 3], "whole"),
          of([3, 3], "whole"),
          of([3], "whole"),
        ),
        of([3], "whole"),
      ),
    "2 gemm": ({ of, by, on }) =>
      on(
        "Mul",
        by("Gemm", gemm, of([3, 3], "whole"), of([3, 3], "whole"), of([3], "whole")),
        of([], () => 2),
      ),
    "gemm without a third operand": ({ of, by }) =>
      by("Gemm", { ...gemm, beta: 3 }, of([3, 3], "whole"), of([3, 3], "whole")),
    "one-hot rows are a gather": ({ of, by, on, dtype }) =>
      on(
        "MatMul",
        by(
          "Cast",
          { to: dtype },
          by(
            "OneHot",
            { axis: 1, depth: 3, dtype: "f32" },
            of([2], (at) => at, "i32"),
          ),
        ),
        of([3, 2], (at) => (at === 5 ? Number.NaN : at)),
      ),
  },
};

export const windowTable: PatternTable = {
  dtypes: FLOATS,
  patterns: {
    "a convolution by a kernel of one": ({ of, by }) =>
      by("Conv", window, of([1, 2, 3, 3], "whole"), of([2, 2, 1, 1], "whole")),
    "a convolution by ones": ({ of, by }) =>
      by(
        "Conv",
        window,
        of([1, 1, 3, 3], "whole"),
        of([1, 1, 1, 1], () => 1),
      ),
    "c conv(x) is conv(x) by c w": {
      make: (kit) =>
        kit.on(
          "Mul",
          kit.by(
            "Conv",
            window,
            kit.of([1, 1, 3, 3], () => large(kit)),
            kit.of([2, 1, 2, 2], () => large(kit)),
          ),
          kit.of([], () => inverse(kit)),
        ),
      rescales: true,
    },
    "conv(c x) is c conv(x)": {
      make: (kit) =>
        kit.by(
          "Conv",
          window,
          kit.on(
            "Mul",
            kit.of([1, 1, 3, 3], () => large(kit)),
            kit.of([], () => inverse(kit)),
          ),
          kit.of([2, 1, 2, 2], () => large(kit)),
        ),
      rescales: true,
    },
    "conv(x) times a gain of each channel": (kit) =>
      kit.on(
        "Mul",
        kit.by("Conv", window, kit.of([1, 2, 3, 3], "whole"), kit.of([2, 2, 2, 2], "whole")),
        kit.of([2, 1, 1], (at) => [0, 2][at] ?? 1),
      ),
    "conv(x) times a gain of each column": (kit) =>
      kit.on(
        "Mul",
        kit.by("Conv", window, kit.of([1, 2, 3, 3], "whole"), kit.of([2, 2, 2, 2], "whole")),
        kit.of([2], (at) => [3, 2][at] ?? 1),
      ),
    "(conv(x) - mean) gain + bias": (kit) => {
      const channel = (...numbers: readonly number[]) => kit.of([2, 1, 1], (at) => numbers[at] ?? 0);
      const product = kit.by(
        "Conv",
        window,
        kit.of([1, 2, 3, 3], (at) => 256 + (at % 2)),
        kit.of([2, 2, 2, 2], () => 0.125),
      );
      return kit.on(
        "Add",
        kit.on("Mul", kit.on("Sub", product, channel(256, 257)), channel(2, -3)),
        channel(1, 5),
      );
    },
    "conv(x) + a bias of each channel": ({ of, by, on }) =>
      on(
        "Add",
        by("Conv", window, of([1, 2, 3, 3], "whole"), of([2, 2, 2, 2], "whole"), of([2], "whole")),
        of([2, 1, 1], "whole"),
      ),
    "conv(x + c) is conv(x) + c": ({ of, by, on }) =>
      by(
        "Conv",
        { ...window, pads: [1, 1, 1, 1] },
        on(
          "Add",
          of([1, 1, 3, 3], "whole"),
          of([], () => 3),
        ),
        of([1, 1, 2, 2], "whole"),
      ),
    "a convolution of a pad": ({ of, by }) =>
      by("Conv", window, by("Pad", padded(0), of([1, 1, 3, 3], "whole")), of([1, 1, 2, 2], "whole")),
    "a convolution of a pad by 2": ({ of, by }) =>
      by("Conv", window, by("Pad", padded(2), of([1, 1, 3, 3], "whole")), of([1, 1, 2, 2], "whole")),
    "a convolution of an edge pad": ({ of, by }) =>
      by("Conv", window, by("Pad", padded(0, "edge"), of([1, 1, 3, 3], "whole")), of([1, 1, 2, 2], "whole")),
    "a convolution of a pad, padded": ({ of, by }) =>
      by(
        "Conv",
        { ...window, pads: [1, 1, 1, 1] },
        by("Pad", padded(1), of([1, 1, 3, 3], "whole")),
        of([1, 1, 2, 2], "whole"),
      ),
    "a convolution of a transpose": ({ of, by }) =>
      by(
        "Conv",
        window,
        by("Transpose", { perm: [0, 3, 1, 2] }, of([1, 3, 3, 3], "whole")),
        of([2, 3, 2, 2], "whole"),
      ),
    "a convolution of a swapped image": ({ of, by }) =>
      by(
        "Conv",
        window,
        by("Transpose", { perm: [0, 1, 3, 2] }, of([1, 2, 3, 3], "whole")),
        of([2, 2, 2, 2], "whole"),
      ),
    "a convolution of a convolution": ({ of, by }) =>
      by(
        "Conv",
        { ...window, pads: [1, 1, 0, 0] },
        by("Conv", { ...window, pads: [0, 0, 1, 1] }, of([1, 1, 3, 3], "whole"), of([2, 1, 2, 2], "whole")),
        of([1, 2, 2, 2], "whole"),
      ),
    "relu of conv(x) + y": ({ of, by, on }) =>
      on(
        "Relu",
        on(
          "Add",
          by("Conv", window, of([1, 1, 3, 3], "whole"), of([2, 1, 2, 2], "whole")),
          of([1, 2, 2, 2], "whole"),
        ),
      ),
    "relu of conv(x), + y": ({ of, by, on }) =>
      on(
        "Add",
        on("Relu", by("Conv", window, of([1, 1, 3, 3], "whole"), of([2, 1, 2, 2], "whole"))),
        of([1, 2, 2, 2], "whole"),
      ),
    "a clip of conv(x)": ({ of, by }) =>
      by(
        "Clip",
        { min: -1, max: 2 },
        by("Conv", window, of([1, 1, 3, 3], "whole"), of([2, 1, 2, 2], "whole")),
      ),
    "two convolutions of one image": ({ of, by, on }) => {
      const x = of([1, 1, 3, 3], "whole");
      return on(
        "Sub",
        by("Conv", window, x, of([2, 1, 2, 2], "whole")),
        by("Conv", window, x, of([2, 1, 2, 2], "whole")),
      );
    },
    "a convolution by the sum of kernels": (kit) => {
      const x = kit.of([1, 1, 3, 3], () => large(kit));
      return kit.on(
        "Add",
        kit.by(
          "Conv",
          window,
          x,
          kit.of([1, 1, 2, 2], () => large(kit)),
        ),
        kit.by(
          "Conv",
          window,
          x,
          kit.of([1, 1, 2, 2], () => -large(kit)),
        ),
      );
    },
    "the largest of relu": ({ of, by, on }) => by("MaxPool", pool, on("Relu", of([1, 2, 4, 4], "edges"))),
    "relu of the largest": ({ of, by, on }) => on("Relu", by("MaxPool", pool, of([1, 2, 4, 4], "edges"))),
    "the mean of relu": ({ of, by, on }) =>
      by("AveragePool", { ...pool, countIncludePad: false }, on("Relu", of([1, 2, 4, 4], "whole"))),
    "relu of the mean": ({ of, by, on }) =>
      on("Relu", by("AveragePool", { ...pool, countIncludePad: false }, of([1, 2, 4, 4], "whole"))),
    "the largest of a negative": ({ of, by, on }) => by("MaxPool", pool, on("Neg", of([1, 2, 4, 4]))),
    "the negative of the largest": ({ of, by, on }) => on("Neg", by("MaxPool", pool, of([1, 2, 4, 4]))),
    "the largest of a product": ({ of, by, on }) =>
      by(
        "MaxPool",
        pool,
        on(
          "Mul",
          of([1, 2, 4, 4]),
          of([2, 1, 1], (at) => [-1, 2][at] ?? 1),
        ),
      ),
    "the largest of a pad": ({ of, by }) =>
      by(
        "MaxPool",
        pool,
        by(
          "Pad",
          padded(0),
          of([1, 1, 3, 3], (at) => -1 - at),
        ),
      ),
    "the largest of a pad by infinity": ({ of, by }) =>
      by("MaxPool", pool, by("Pad", padded(Number.NEGATIVE_INFINITY), of([1, 1, 3, 3]))),
    "the largest, padded": ({ of, by }) =>
      by(
        "MaxPool",
        { ...pool, pads: [1, 1, 1, 1] },
        of([1, 1, 3, 3], (at) => -1 - at),
      ),
    "the largest of the largest": ({ of, by }) =>
      by("MaxPool", pool, by("MaxPool", { ...pool, strides: [2, 2] }, of([1, 1, 7, 7]))),
    "the mean of a pad": ({ of, by }) =>
      by("AveragePool", { ...pool, countIncludePad: false }, by("Pad", padded(0), of([1, 1, 3, 3], "whole"))),
    "the mean of a pad, padded": ({ of, by }) =>
      by(
        "AveragePool",
        { ...pool, pads: [1, 1, 1, 1], countIncludePad: true },
        by("Pad", padded(2), of([1, 1, 3, 3], "whole")),
      ),
    "the mean of the mean": ({ of, by }) =>
      by(
        "AveragePool",
        { ...pool, countIncludePad: false },
        by("AveragePool", { ...pool, strides: [2, 2], countIncludePad: false }, of([1, 1, 7, 7], "whole")),
      ),
    "the mean of a convolution": ({ of, by }) =>
      by(
        "AveragePool",
        { ...pool, countIncludePad: false },
        by("Conv", window, of([1, 1, 4, 4], "whole"), of([1, 1, 2, 2], "whole")),
      ),
    "a mean over a whole image": ({ of, by }) =>
      by("ReduceMean", { axes: [2, 3], keepdims: true }, of([2, 2, 4, 4], "whole")),
    "a pool over a whole image": ({ of, by }) =>
      by("AveragePool", { ...pool, kernelShape: [4, 4], countIncludePad: false }, of([2, 2, 4, 4], "whole")),
  },
};
