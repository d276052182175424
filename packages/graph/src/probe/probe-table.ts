/**
 * Minimal nodes of each op, built once per dtype to find out whether the engine has kernels for that op and dtype.
 * Functions make the tables, so that a bundler leaves them out of a program that probes nothing.
 */
import { type DType, isEighth, isFloat } from "../dtype.js";
import type { Op, OpAttributes } from "../graph/attributes.js";
import { GraphBuilder } from "../graph/build/builder.js";
import { FAMILIES, REDUCE_OPS, type ReduceOp, rowsOf } from "../graph/families.js";
import type { GraphNode, Value } from "../graph/graph.js";
import type { Shape } from "../shape.js";

/** The graph that probes are added to. All elements of its inputs are 1. */
export interface ProbeSite {
  /** An input of the graph, by default in the dtype that is probed. */
  value(shape: Shape, dtype?: DType): Value;
  emit<K extends Op>(op: K, inputs: readonly Value[], attributes: OpAttributes[K]): void;
}

type Probe<K extends Op> = (site: ProbeSite, op: K) => void;
type NoAttributes = {
  readonly [K in Op]: OpAttributes[K] extends GraphNode<"Abs">["attributes"] ? K : never;
}[Op];

const SHAPE = [2, 3];
const PLANE = [1, 2, 3, 3];
const WINDOW: OpAttributes["MaxPool"] = {
  kernelShape: [2, 2],
  strides: [2, 2],
  pads: [0, 0, 1, 1],
  dilations: [1, 1],
  ceilMode: false,
};

/** Windows with padding, dilation and `ceilMode`, which engines may replace by other nodes. */
const windows = (): readonly OpAttributes["MaxPool"][] => [
  WINDOW,
  { ...WINDOW, strides: [1, 1], pads: [0, 0, 2, 2], dilations: [2, 2] },
  { ...WINDOW, pads: [0, 0, 0, 0], ceilMode: true },
];

const elementwise =
  (operands: number): Probe<NoAttributes> =>
  (site, op) =>
    site.emit(
      op,
      Array.from({ length: operands }, () => site.value(SHAPE)),
      {} as never,
    );

/** Probes an op on one operand of two rows and three columns. */
const on =
  <K extends Op>(attributes: OpAttributes[K]): Probe<K> =>
  (site, op) =>
    site.emit(op, [site.value(SHAPE)], attributes);

const likelihood: Probe<"SoftmaxCrossEntropyLoss" | "NegativeLogLikelihoodLoss"> = (site, op) =>
  site.emit(op, [site.value(SHAPE), site.value([2], "i32")], { reduction: "mean" });

interface Convolved {
  readonly x: Shape;
  readonly w: Shape;
  readonly y: Shape;
  readonly window: OpAttributes["Conv"];
  /** Repeats a number, once for each spatial axis. */
  readonly each: (number: number) => readonly number[];
}

/** Convolutions with 1 to 3 spatial axes: plain, dilated and grouped ones, which engines implement separately. */
const convolutions = (): readonly Convolved[] =>
  [1, 2, 3].flatMap((rank) =>
    [
      { group: 1, dilation: 1 },
      { group: 1, dilation: 2 },
      { group: 2, dilation: 1 },
    ].map(({ group, dilation }): Convolved => {
      const each = (number: number): readonly number[] => new Array<number>(rank).fill(number);
      return {
        x: [1, 2, ...each(4)],
        w: [4, 2 / group, ...each(2)],
        y: [1, 4, ...each(5 - dilation)],
        window: { strides: each(1), pads: [...each(0), ...each(1)], dilations: each(dilation), group },
        each,
      };
    }),
  );

export function probeTable(): { readonly [K in Op]: Probe<K> } {
  const reduce = on<ReduceOp>({ axes: [1], keepdims: false });
  const search = on<"ArgMax" | "ArgMin">({ axis: 1, keepdims: false });
  const normalized = on<"Softmax" | "LogSoftmax">({ axis: 1 });
  return {
    ...rowsOf(FAMILIES.unary, () => elementwise(1)),
    ...rowsOf(FAMILIES.binary, () => elementwise(2)),
    LeakyRelu: on({ alpha: 0.5 }),
    Elu: on({ alpha: 0.5 }),
    Gelu: (site, op) => {
      for (const approximate of ["none", "tanh"] as const)
        site.emit(op, [site.value(SHAPE)], { approximate });
    },
    Clip: on({ min: 0, max: 1 }),
    Cast: (site, op) => {
      const { dtype } = site.value([]);
      const floats = ["f32", "f16", "bf16"] as const;
      for (const to of isEighth(dtype) ? floats : ([...floats, "i32", "u64", "bool"] as const))
        site.emit(op, [site.value(SHAPE)], { to });
      site.emit(op, [site.value(SHAPE, "f32")], { to: dtype });
    },
    Mod: (site, op) => {
      const fmod = isFloat(site.value([]).dtype);
      site.emit(op, [site.value(SHAPE), site.value(SHAPE)], { fmod });
    },
    Where: (site, op) => site.emit(op, [site.value(SHAPE, "bool"), site.value(SHAPE), site.value([3])], {}),
    MatMul: (site, op) => site.emit(op, [site.value([2, 3]), site.value([3, 2])], {}),
    Gemm: (site, op) =>
      site.emit(op, [site.value([3, 2]), site.value([2, 3]), site.value([2])], {
        transA: true,
        transB: true,
        alpha: 0.5,
        beta: 0.5,
      }),
    Einsum: (site, op) => {
      site.emit(op, [site.value([2, 3]), site.value([3, 2])], { equation: "ij,jk->ki" });
      site.emit(op, [site.value([2, 2, 3])], { equation: "iij->j" });
    },
    Attention: (site, op) => {
      const attributes = { scale: 0.5, isCausal: true, softcap: 2 };
      const [query, key] = [site.value([1, 2, 2, 3]), site.value([1, 1, 3, 3])];
      site.emit(op, [query, key, key], attributes);
      site.emit(op, [query, key, key, site.value([2, 3])], attributes);
      site.emit(op, [query, key, key, site.value([2, 3], "bool")], attributes);
    },
    Conv: (site, op) => {
      for (const { x, w, window } of convolutions()) site.emit(op, [site.value(x), site.value(w)], window);
    },
    ConvTranspose: (site, op) => {
      for (const { y, w, window, each } of convolutions())
        site.emit(op, [site.value(y), site.value(w)], { ...window, outputPadding: each(0) });
    },
    ...rowsOf(REDUCE_OPS, () => reduce),
    ArgMax: search,
    ArgMin: search,
    TopK: on({ axis: 1, k: 2, largest: true }),
    CumSum: on({ axis: 1, exclusive: true, reverse: true }),
    MaxPool: (site, op) => {
      for (const window of windows()) site.emit(op, [site.value(PLANE)], window);
    },
    AveragePool: (site, op) => {
      for (const window of windows())
        for (const countIncludePad of [true, false])
          site.emit(op, [site.value(PLANE)], { ...window, countIncludePad });
    },
    Softmax: normalized,
    LogSoftmax: normalized,
    SoftmaxCrossEntropyLoss: likelihood,
    NegativeLogLikelihoodLoss: likelihood,
    LayerNormalization: (site, op) =>
      site.emit(op, [site.value(SHAPE), site.value([3]), site.value([3])], { axis: 1, epsilon: 0.5 }),
    RMSNormalization: (site, op) =>
      site.emit(op, [site.value(SHAPE), site.value([3])], { axis: 1, epsilon: 0.5 }),
    BatchNormalization: (site, op) => {
      const [x, channel] = [site.value([2, 3, 2, 2]), site.value([3], "f32")];
      site.emit(op, [x, channel, channel], { epsilon: 0.5 });
    },
    AttentionGradient: (site, op) => {
      const [query, key] = [site.value([1, 2, 2, 3]), site.value([1, 1, 3, 3])];
      site.emit(op, [query, query, key, key], { scale: 0.5, isCausal: true, softcap: 2 });
    },
    MaxPoolGradient: (site, op) => {
      const y = site.value([1, 2, 2, 2]);
      site.emit(op, [y, site.value(PLANE), y], WINDOW);
    },
    BatchNormalizationGradient: (site, op) => {
      const [x, channel] = [site.value([2, 3, 2, 2]), site.value([3], "f32")];
      site.emit(op, [x, x, channel, channel, channel], { epsilon: 0.5 });
    },
    Reshape: on({ shape: [3, 2] }),
    Transpose: on({ perm: [1, 0] }),
    Slice: on({ starts: [2], ends: [-1], axes: [1], steps: [-1] }),
    Concat: (site, op) => site.emit(op, [site.value(SHAPE), site.value(SHAPE)], { axis: 1 }),
    Split: on({ axis: 1, split: [1, 2] }),
    Gather: (site, op) => site.emit(op, [site.value(SHAPE), site.value([2], "i32")], { axis: 0 }),
    GatherElements: (site, op) => site.emit(op, [site.value(SHAPE), site.value([2, 1], "i32")], { axis: 1 }),
    GatherND: (site, op) => site.emit(op, [site.value(SHAPE), site.value([2, 1], "i32")], { batchDims: 0 }),
    ScatterElements: (site, op) => {
      const operands = [site.value(SHAPE), site.value([2, 1], "i32"), site.value([2, 1])];
      site.emit(op, operands, { axis: 1, reduction: "none" });
    },
    ScatterND: (site, op) => {
      const operands = [site.value(SHAPE), site.value([1, 1], "i32"), site.value([1, 3])];
      site.emit(op, operands, { reduction: "none" });
    },
    Expand: on({ shape: [2, 2, 3] }),
    Squeeze: (site, op) => site.emit(op, [site.value([1, 3])], { axes: [0] }),
    Unsqueeze: on({ axes: [0] }),
    Pad: on({ pads: [0, 1, 1, 0], mode: "constant", value: 1 }),
    Tile: on({ repeats: [1, 2] }),
    OneHot: (site, op) => site.emit(op, [site.value([2])], { axis: 1, depth: 2, dtype: "f32" }),
    Constant: (site) => {
      site.value(SHAPE);
    },
    Range: (site, op) => site.emit(op, [], { start: 1, limit: 2, delta: 1, dtype: site.value([]).dtype }),
    RandomBits: (site, op) => site.emit(op, [site.value([])], { key: 1n, shape: [2] }),
    ConvWeightGradient: (site, op) => {
      for (const { x, y, window, each } of convolutions())
        site.emit(op, [site.value(x), site.value(y)], { ...window, kernelShape: each(2) });
    },
    /** A body that returns the previous element at each step. */
    Scan: (site, op) => {
      const [carry, element] = [site.value([3]), site.value(SHAPE)];
      const builder = new GraphBuilder();
      const from = builder.input("carry", carry, "capture");
      const x = builder.input("element", { dtype: element.dtype, shape: [3] }, "capture");
      const body = builder.finish({ carry: builder.emitOne("Identity", [x], {}), y: from });
      const counts = { carries: 1, sequences: 1, length: 2, saved: 0 };
      for (const reverse of [false, true]) site.emit(op, [carry, element], { body, ...counts, reverse });
    },
    Barrier: (site, op) => site.emit(op, [site.value(SHAPE), site.value([])], {}),
  };
}
