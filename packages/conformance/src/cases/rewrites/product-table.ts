/** Products of matrices, convolutions and pools, with the nodes that optimizers fold into them. Sums are exact. */
import type { Value } from "@mp/graph";
import { FLOATS, type Kit, type PatternTable } from "./pattern.js";

const turned = { perm: [1, 0] };
const gemm = { transA: false, transB: false, alpha: 1, beta: 1 };
const window = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], group: 1 };
const pool = { kernelShape: [2, 2], strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], ceilMode: false };
const padEnds = (value: number, mode: "constant" | "edge" = "constant") => ({
  pads: [0, 0, 1, 1, 0, 0, 1, 1],
  mode,
  value,
});
const identity = ({ of }: Kit, size: number) => of([size, size], (at) => (at % (size + 1) === 0 ? 1 : 0));
/** A number whose square overflows. */
const large = ({ dtype }: Kit): number => (dtype === "f16" ? 2 ** 9 : 2 ** 65);
const inverse = (kit: Kit): number => 1 / large(kit);
/** Matrices of `large` numbers, or of their inverses. */
const huge = (kit: Kit): Value => kit.filled(large(kit), 2, 2);
const tiny = (kit: Kit): Value => kit.filled(inverse(kit), 2, 2);
const alternating = (x: number) => (at: number) => (at % 2 === 0 ? x : -x);

export const matrixTable: PatternTable = {
  dtypes: FLOATS,
  patterns: {
    "(A B) C is A (B C)": ({ whole, MatMul }) => MatMul(MatMul(whole(3, 3), whole(3, 3)), whole(3, 3)),
    "(A B) C overflows": (kit) => kit.MatMul(kit.MatMul(huge(kit), huge(kit)), tiny(kit)),
    "A (B C) overflows": (kit) => kit.MatMul(tiny(kit), kit.MatMul(huge(kit), huge(kit))),
    "A (B C) cancels": (kit) =>
      kit.MatMul(
        huge(kit),
        kit.MatMul(
          huge(kit),
          kit.of([2, 2], (at) => (at < 2 ? 1 : -1)),
        ),
      ),
    "(A B) C with an infinity": ({ of, filled, MatMul }) =>
      MatMul(
        MatMul(
          of([2, 2], (at) => (at === 0 ? Number.POSITIVE_INFINITY : 1)),
          filled(1, 2, 2),
        ),
        of([2, 2], (at) => at % 2),
      ),
    "c (A B) is (c A) B": (kit) => kit.Mul(kit.MatMul(huge(kit), huge(kit)), kit.filled(inverse(kit))),
    "(c A) B is c (A B)": (kit) => kit.MatMul(kit.Mul(huge(kit), kit.filled(inverse(kit))), huge(kit)),
    "A (c B) is c (A B)": (kit) => kit.MatMul(huge(kit), kit.Mul(huge(kit), kit.filled(inverse(kit)))),
    "0 (A B) is 0": ({ filled, MatMul, Mul }) =>
      Mul(MatMul(filled(Number.POSITIVE_INFINITY, 2, 2), filled(1, 2, 2)), filled(0)),
    "A B / c is A (B / c)": (kit) => kit.Div(kit.MatMul(huge(kit), huge(kit)), kit.filled(large(kit))),
    "A B + A C is A (B + C)": (kit) => {
      const a = huge(kit);
      const b = (x: number) => kit.MatMul(a, kit.filled(x * large(kit), 2, 2));
      return kit.Add(b(1), b(-1));
    },
    "A (B + C) is A B + A C": (kit) =>
      kit.MatMul(huge(kit), kit.Add(huge(kit), kit.filled(-large(kit), 2, 2))),
    "A C + B C is (A + B) C": ({ whole, MatMul, Add }) => {
      const c = whole(3, 3);
      return Add(MatMul(whole(3, 3), c), MatMul(whole(3, 3), c));
    },
    "A times the identity is A": (kit) =>
      kit.MatMul(
        kit.of([3, 3], (at) => (at === 4 ? Number.NaN : at)),
        identity(kit, 3),
      ),
    "the identity times A is A": (kit) =>
      kit.MatMul(
        identity(kit, 3),
        kit.of([3, 3], (at) => (at === 4 ? Number.POSITIVE_INFINITY : at)),
      ),
    "A times zeros is zeros": (kit) =>
      kit.MatMul(
        kit.of([3, 3], (at) => (at === 4 ? Number.NaN : at)),
        kit.filled(0, 3, 3),
      ),
    "zeros times A are zeros": (kit) =>
      kit.MatMul(
        kit.filled(0, 3, 3),
        kit.of([3, 3], (at) => (at === 4 ? Number.NEGATIVE_INFINITY : at)),
      ),
    "A times ones is a sum": ({ whole, filled, MatMul }) => MatMul(whole(3, 5), filled(1, 5, 1)),
    "A' B": ({ whole, Transpose, MatMul }) => MatMul(Transpose(turned, whole(3, 3)), whole(3, 3)),
    "A B'": ({ whole, Transpose, MatMul }) => MatMul(whole(3, 3), Transpose(turned, whole(3, 3))),
    "A' B'": ({ whole, Transpose, MatMul }) =>
      MatMul(Transpose(turned, whole(3, 3)), Transpose(turned, whole(3, 3))),
    "(A B)'": ({ whole, MatMul, Transpose }) => Transpose(turned, MatMul(whole(3, 3), whole(3, 3))),
    "A A'": ({ whole, Transpose, MatMul }) => {
      const a = whole(3, 3);
      return MatMul(a, Transpose(turned, a));
    },
    "A' A": ({ whole, Transpose, MatMul }) => {
      const a = whole(3, 3);
      return MatMul(Transpose(turned, a), a);
    },
    "A A": ({ whole, MatMul }) => {
      const a = whole(3, 3);
      return MatMul(a, a);
    },
    "A'' B": ({ whole, Transpose, MatMul }) =>
      MatMul(Transpose(turned, Transpose(turned, whole(3, 3))), whole(3, 3)),
    "batches, transposed inside": ({ whole, Transpose, MatMul }) =>
      MatMul(Transpose({ perm: [0, 2, 1] }, whole(3, 3, 3)), whole(3, 3, 3)),
    "batches, the first axis moved": ({ whole, Transpose, MatMul }) =>
      MatMul(Transpose({ perm: [1, 0, 2] }, whole(3, 3, 3)), whole(3, 3, 3)),
    "batches, all axes moved": ({ whole, Transpose, MatMul }) =>
      MatMul(whole(3, 3, 3), Transpose({ perm: [2, 0, 1] }, whole(3, 3, 3))),
    "batches, reversed axes": ({ whole, Transpose, MatMul }) =>
      MatMul(Transpose({ perm: [2, 1, 0] }, whole(3, 3, 3)), Transpose({ perm: [1, 2, 0] }, whole(3, 3, 3))),
    "a reshape to a matrix and back": ({ whole, Reshape, MatMul }) =>
      Reshape({ shape: [3, 2, 2] }, MatMul(Reshape({ shape: [6, 2] }, whole(3, 2, 2)), whole(2, 2))),
    "a product of an expand": ({ whole, Expand, MatMul }) =>
      MatMul(Expand({ shape: [2, 3, 3] }, whole(3, 3)), whole(2, 3, 3)),
    "a product of a slice": ({ whole, Slice, MatMul }) =>
      MatMul(Slice({ axes: [0], starts: [1], ends: [4], steps: [1] }, whole(5, 3)), whole(3, 3)),
    "a slice of a product": ({ whole, MatMul, Slice }) =>
      Slice({ axes: [1], starts: [1], ends: [3], steps: [1] }, MatMul(whole(3, 3), whole(3, 4))),
    "a concat of products": ({ whole, MatMul, Concat }) => {
      const a = whole(3, 3);
      return Concat({ axis: 1 }, MatMul(a, whole(3, 2)), MatMul(a, whole(3, 3)));
    },
    "a concat of products of one right operand": ({ whole, MatMul, Concat }) => {
      const b = whole(3, 2);
      return Concat({ axis: 0 }, MatMul(whole(2, 3), b), MatMul(whole(1, 3), b));
    },
    "a product of a concat": ({ whole, Concat, MatMul }) =>
      MatMul(Concat({ axis: 1 }, whole(3, 1), whole(3, 2)), whole(3, 3)),
    "relu before a product": ({ whole, Relu, MatMul }) => MatMul(Relu(whole(3, 3)), whole(3, 3)),
    "relu of a product": ({ whole, MatMul, Relu }) => Relu(MatMul(whole(3, 3), whole(3, 3))),
    "relu of a product + a row": ({ whole, MatMul, Add, Relu }) =>
      Relu(Add(MatMul(whole(3, 3), whole(3, 3)), whole(3))),
    "relu of a product, + a row": ({ whole, MatMul, Relu, Add }) =>
      Add(Relu(MatMul(whole(3, 3), whole(3, 3))), whole(3)),
    "a product less a row": ({ whole, MatMul, Sub }) => Sub(MatMul(whole(3, 3), whole(3, 3)), whole(3)),
    "a row less a product": ({ whole, MatMul, Sub }) => Sub(whole(3), MatMul(whole(3, 3), whole(3, 3))),
    "a product + a column": ({ whole, MatMul, Add }) => Add(MatMul(whole(3, 3), whole(3, 3)), whole(3, 1)),
    "a product of one row + a matrix": ({ whole, MatMul, Add }) =>
      Add(MatMul(whole(1, 3), whole(3, 3)), whole(3, 3)),
    "a product in a half + a number beyond it": (kit) =>
      kit.Add(
        kit.MatMul(huge(kit), huge(kit)),
        kit.of([2], alternating(kit.dtype === "f16" ? 60000 : 2 ** 127)),
      ),
    "gemm of a transpose": ({ whole, Transpose, Gemm }) =>
      Gemm({ ...gemm, transA: true }, Transpose(turned, whole(3, 3)), whole(3, 3), whole(3)),
    "gemm of a gemm": ({ whole, Gemm }) =>
      Gemm(gemm, Gemm(gemm, whole(3, 3), whole(3, 3), whole(3)), whole(3, 3), whole(3, 1)),
    "gemm + a row": ({ whole, Gemm, Add }) =>
      Add(Gemm({ ...gemm, alpha: 2, beta: 0.5 }, whole(3, 3), whole(3, 3), whole(3)), whole(3)),
    "2 gemm": ({ whole, Gemm, filled, Mul }) =>
      Mul(Gemm(gemm, whole(3, 3), whole(3, 3), whole(3)), filled(2)),
    "gemm without a third operand": ({ whole, Gemm }) => Gemm({ ...gemm, beta: 3 }, whole(3, 3), whole(3, 3)),
    "one-hot rows are a gather": ({ of, dtype, OneHot, Cast, MatMul }) =>
      MatMul(
        Cast(
          { to: dtype },
          OneHot(
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
    "a convolution by a kernel of one": ({ whole, Conv }) =>
      Conv(window, whole(1, 2, 3, 3), whole(2, 2, 1, 1)),
    "a convolution by ones": ({ whole, filled, Conv }) =>
      Conv(window, whole(1, 1, 3, 3), filled(1, 1, 1, 1, 1)),
    "c conv(x) is conv(x) by c w": (kit) =>
      kit.Mul(
        kit.Conv(window, kit.filled(large(kit), 1, 1, 3, 3), kit.filled(large(kit), 2, 1, 2, 2)),
        kit.filled(inverse(kit)),
      ),
    "conv(c x) is c conv(x)": (kit) =>
      kit.Conv(
        window,
        kit.Mul(kit.filled(large(kit), 1, 1, 3, 3), kit.filled(inverse(kit))),
        kit.filled(large(kit), 2, 1, 2, 2),
      ),
    "conv(x) times a gain of each channel": (kit) =>
      kit.Mul(kit.Conv(window, kit.whole(1, 2, 3, 3), kit.whole(2, 2, 2, 2)), kit.listed([0, 2], 2, 1, 1)),
    "conv(x) times a gain of each column": (kit) =>
      kit.Mul(kit.Conv(window, kit.whole(1, 2, 3, 3), kit.whole(2, 2, 2, 2)), kit.listed([3, 2], 2)),
    "(conv(x) - mean) gain + bias": (kit) => {
      const channel = (...numbers: readonly number[]) => kit.of([2, 1, 1], (at) => numbers[at] ?? 0);
      const product = kit.Conv(
        window,
        kit.of([1, 2, 3, 3], (at) => 256 + (at % 2)),
        kit.filled(0.125, 2, 2, 2, 2),
      );
      return kit.Add(kit.Mul(kit.Sub(product, channel(256, 257)), channel(2, -3)), channel(1, 5));
    },
    "conv(x) + a bias of each channel": ({ whole, Conv, Add }) =>
      Add(Conv(window, whole(1, 2, 3, 3), whole(2, 2, 2, 2), whole(2)), whole(2, 1, 1)),
    "conv(x + c) is conv(x) + c": ({ whole, filled, Add, Conv }) =>
      Conv({ ...window, pads: [1, 1, 1, 1] }, Add(whole(1, 1, 3, 3), filled(3)), whole(1, 1, 2, 2)),
    "a convolution of a pad": ({ whole, Pad, Conv }) =>
      Conv(window, Pad(padEnds(0), whole(1, 1, 3, 3)), whole(1, 1, 2, 2)),
    "a convolution of a pad by 2": ({ whole, Pad, Conv }) =>
      Conv(window, Pad(padEnds(2), whole(1, 1, 3, 3)), whole(1, 1, 2, 2)),
    "a convolution of an edge pad": ({ whole, Pad, Conv }) =>
      Conv(window, Pad(padEnds(0, "edge"), whole(1, 1, 3, 3)), whole(1, 1, 2, 2)),
    "a convolution of a pad, padded": ({ whole, Pad, Conv }) =>
      Conv({ ...window, pads: [1, 1, 1, 1] }, Pad(padEnds(1), whole(1, 1, 3, 3)), whole(1, 1, 2, 2)),
    "a convolution of a transpose": ({ whole, Transpose, Conv }) =>
      Conv(window, Transpose({ perm: [0, 3, 1, 2] }, whole(1, 3, 3, 3)), whole(2, 3, 2, 2)),
    "a convolution of a swapped image": ({ whole, Transpose, Conv }) =>
      Conv(window, Transpose({ perm: [0, 1, 3, 2] }, whole(1, 2, 3, 3)), whole(2, 2, 2, 2)),
    "a convolution of a convolution": ({ whole, Conv }) =>
      Conv(
        { ...window, pads: [1, 1, 0, 0] },
        Conv({ ...window, pads: [0, 0, 1, 1] }, whole(1, 1, 3, 3), whole(2, 1, 2, 2)),
        whole(1, 2, 2, 2),
      ),
    "relu of conv(x) + y": ({ whole, Conv, Add, Relu }) =>
      Relu(Add(Conv(window, whole(1, 1, 3, 3), whole(2, 1, 2, 2)), whole(1, 2, 2, 2))),
    "relu of conv(x), + y": ({ whole, Conv, Relu, Add }) =>
      Add(Relu(Conv(window, whole(1, 1, 3, 3), whole(2, 1, 2, 2))), whole(1, 2, 2, 2)),
    "a clip of conv(x)": ({ whole, Conv, Clip }) =>
      Clip({ min: -1, max: 2 }, Conv(window, whole(1, 1, 3, 3), whole(2, 1, 2, 2))),
    "two convolutions of one image": ({ whole, Conv, Sub }) => {
      const x = whole(1, 1, 3, 3);
      return Sub(Conv(window, x, whole(2, 1, 2, 2)), Conv(window, x, whole(2, 1, 2, 2)));
    },
    "a convolution by the sum of kernels": (kit) => {
      const x = kit.filled(large(kit), 1, 1, 3, 3);
      return kit.Add(
        kit.Conv(window, x, kit.filled(large(kit), 1, 1, 2, 2)),
        kit.Conv(window, x, kit.filled(-large(kit), 1, 1, 2, 2)),
      );
    },
    "the largest of relu": ({ edges, Relu, MaxPool }) => MaxPool(pool, Relu(edges(1, 2, 4, 4))),
    "relu of the largest": ({ edges, MaxPool, Relu }) => Relu(MaxPool(pool, edges(1, 2, 4, 4))),
    "the mean of relu": ({ whole, Relu, AveragePool }) =>
      AveragePool({ ...pool, countIncludePad: false }, Relu(whole(1, 2, 4, 4))),
    "relu of the mean": ({ whole, AveragePool, Relu }) =>
      Relu(AveragePool({ ...pool, countIncludePad: false }, whole(1, 2, 4, 4))),
    "the largest of a negative": ({ of, Neg, MaxPool }) => MaxPool(pool, Neg(of([1, 2, 4, 4]))),
    "the negative of the largest": ({ of, MaxPool, Neg }) => Neg(MaxPool(pool, of([1, 2, 4, 4]))),
    "the largest of a product": ({ of, listed, Mul, MaxPool }) =>
      MaxPool(pool, Mul(of([1, 2, 4, 4]), listed([-1, 2], 2, 1, 1))),
    "the largest of a pad": ({ of, Pad, MaxPool }) =>
      MaxPool(
        pool,
        Pad(
          padEnds(0),
          of([1, 1, 3, 3], (at) => -1 - at),
        ),
      ),
    "the largest of a pad by infinity": ({ of, Pad, MaxPool }) =>
      MaxPool(pool, Pad(padEnds(Number.NEGATIVE_INFINITY), of([1, 1, 3, 3]))),
    "the largest, padded": ({ of, MaxPool }) =>
      MaxPool(
        { ...pool, pads: [1, 1, 1, 1] },
        of([1, 1, 3, 3], (at) => -1 - at),
      ),
    "the largest of the largest": ({ of, MaxPool }) =>
      MaxPool(pool, MaxPool({ ...pool, strides: [2, 2] }, of([1, 1, 7, 7]))),
    "the mean of a pad": ({ whole, Pad, AveragePool }) =>
      AveragePool({ ...pool, countIncludePad: false }, Pad(padEnds(0), whole(1, 1, 3, 3))),
    "the mean of a pad, padded": ({ whole, Pad, AveragePool }) =>
      AveragePool({ ...pool, pads: [1, 1, 1, 1], countIncludePad: true }, Pad(padEnds(2), whole(1, 1, 3, 3))),
    "the mean of the mean": ({ whole, AveragePool }) =>
      AveragePool(
        { ...pool, countIncludePad: false },
        AveragePool({ ...pool, strides: [2, 2], countIncludePad: false }, whole(1, 1, 7, 7)),
      ),
    "the mean of a convolution": ({ whole, Conv, AveragePool }) =>
      AveragePool({ ...pool, countIncludePad: false }, Conv(window, whole(1, 1, 4, 4), whole(1, 1, 2, 2))),
    "a mean over a whole image": ({ whole, ReduceMean }) =>
      ReduceMean({ axes: [2, 3], keepdims: true }, whole(2, 2, 4, 4)),
    "a pool over a whole image": ({ whole, AveragePool }) =>
      AveragePool({ ...pool, kernelShape: [4, 4], countIncludePad: false }, whole(2, 2, 4, 4)),
  },
};
