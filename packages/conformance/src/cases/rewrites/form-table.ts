/** A node of each operator, and other attributes for a second node on the same operands. */
import {
  type DType,
  FAMILIES,
  type Graph,
  GraphBuilder,
  isComputeFloat,
  isEighth,
  isFloat,
  type Op,
  type OpAttributes,
  type OpOf,
  REDUCE_OPS,
  type ReduceOp,
  rowsOf,
  tensor,
  type Value,
} from "@mp/graph";
import { permutations } from "../../samples/axis-data.js";
import { opsWith } from "../../samples/op-table.js";
import type { Kit, PlainOp } from "./pattern.js";

export interface Form<K extends Op> {
  readonly attributes: OpAttributes[K];
  /** Replacements for some of `attributes`, one set for each other node. */
  readonly others?: readonly Partial<OpAttributes[K]>[];
  readonly operands: (kit: Kit) => readonly Value[];
  /** Number of optional operands, which are the last ones. */
  readonly optional?: number;
}

/** Lists sets of attributes, one for each of the `values`; each set has only that attribute. */
const alone = <A extends object>(values: { readonly [N in keyof A]?: readonly A[N][] }): Partial<A>[] =>
  Object.entries(values as Record<string, readonly unknown[]>).flatMap(([name, list]) =>
    list.map((value) => ({ [name]: value }) as Partial<A>),
  );

type Unary = Extract<OpOf<"unary">, PlainOp>;
type Binary = Exclude<Extract<OpOf<"binary">, PlainOp>, "Where">;
const optioned: readonly Op[] = opsWith("options");
export const UNARY: readonly Unary[] = FAMILIES.unary.filter((op): op is Unary => !optioned.includes(op));
export const BINARY: readonly Binary[] = FAMILIES.binary.filter(
  (op): op is Binary => op !== "Mod" && op !== "Where",
);

const SHAPE = [2, 3, 4];
const tame = ({ of }: Kit): readonly Value[] => [of(SHAPE, "tame")];
const signed = ({ of, dtype }: Kit): readonly Value[] => [of(SHAPE, dtype === "bool" ? "whole" : "distinct")];
const indices = (kit: Kit, shape: readonly number[], below: number): Value =>
  kit.of(shape, () => kit.random.integer(0, below - 1), "i32");
const whole = (kit: Kit, ...shapes: readonly (readonly number[])[]): readonly Value[] =>
  shapes.map((shape) => kit.of(shape, "whole"));
const positive = (kit: Kit, ...shapes: readonly (readonly number[])[]): readonly Value[] =>
  shapes.map((shape) => kit.of(shape, "tame"));

const reduction: Form<"ReduceSum"> = {
  attributes: { axes: [1], keepdims: false },
  others: alone({ axes: [[0], [2], [0, 1], [1, 2], [0, 2]], keepdims: [true] }),
  operands: ({ of }) => [of([3, 3, 3], "tame")],
};

const search = {
  attributes: { axis: 1, keepdims: false },
  others: [{ axis: 0 }, { axis: 2 }, { keepdims: true }],
  operands: ({ of }: Kit) => [of([3, 3, 3])],
};
const share = {
  attributes: { axis: 1 },
  others: alone({ axis: [0, 2] }),
  operands: ({ of }: Kit) => [of([3, 3, 3], "tame")],
};
const window = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1] };
const twice = [[2, 1], [1, 2]]; // biome-ignore format: one line
const onOneSide = [0, 1, 2, 3].map((end) => [0, 0, 0, 0].with(end, 1));
const windows = alone<typeof window>({ strides: twice, pads: onOneSide, dilations: twice });
const pool = { ...window, kernelShape: [2, 2], ceilMode: false };
const pools = [
  ...windows,
  ...alone({ kernelShape: twice }),
  { ceilMode: true, strides: [2, 2] },
  { strides: [2, 2] },
];
const loss = {
  attributes: { reduction: "none" as const, ignoreIndex: 1 },
  others: alone({ reduction: ["mean" as const, "sum" as const], ignoreIndex: [0, 2] }),
  operands: (kit: Kit) => [
    kit.of([4, 3], "whole"),
    kit.of([4], (at) => (at * 2) % 3, "i32"),
    kit.of([3], "tame"),
  ],
  optional: 1,
};

const reductions = (dtype: DType) =>
  dtype === "bool" || isEighth(dtype)
    ? []
    : (["add", "mul", "max", "min"] as const).map((reduction) => ({ reduction }));

/** The body of a loop that adds each element to the carry or multiplies by it; for bools, And or Or. */
function body(dtype: DType, isFirst: boolean): Graph {
  const builder = new GraphBuilder();
  const [carry, element] = [0, 1].map((index) =>
    builder.input(`x${index}`, { dtype, shape: [2] }, "capture"),
  );
  const [first, second] = dtype === "bool" ? (["And", "Or"] as const) : (["Add", "Mul"] as const);
  const sum = builder.emitOne(isFirst ? first : second, [carry as Value, element as Value], {});
  return builder.finish({ y0: sum, y1: builder.emitOne("Identity", [sum], {}) });
}

/** The form of every operator, with operands that suit numbers, bools or f8. */
const formsFor = (dtype: DType): { readonly [K in Op]: Form<K> } => ({
  ...rowsOf(UNARY, () => ({ attributes: {}, operands: dtype === "bool" ? signed : tame })),
  ...rowsOf(BINARY, () => ({
    attributes: {},
    operands: ({ of }: Kit) => [
      of(SHAPE, dtype === "bool" ? "whole" : "tame"),
      of(SHAPE, dtype === "bool" ? "whole" : "tame"),
    ],
  })),
  // All reductions have the same attributes.
  ...(rowsOf(REDUCE_OPS, () => reduction) as { readonly [K in ReduceOp]: Form<never> }),
  LeakyRelu: {
    attributes: { alpha: 0.01 },
    others: alone({ alpha: [0.0101, -0.01, 0, 1, 0.1] }),
    operands: signed,
  },
  Elu: {
    attributes: { alpha: 1 },
    others: [{ alpha: 1.0009765625 }, { alpha: -1 }, { alpha: 0.5 }],
    operands: signed,
  },
  Gelu: {
    attributes: { approximate: "none" },
    others: [{ approximate: "tanh" }],
    operands: ({ of }) => [of(SHAPE, (at) => (at % 9) - 4.5)],
  },
  Clip: {
    attributes: { min: 2, max: 5 },
    others: [{ min: 3 }, { max: 4 }, { min: 0 }, { max: 6 }, { min: 5 }, { max: 2 }],
    operands: signed,
  },
  Cast: {
    attributes: { to: "f32" },
    others: (["f16", "bf16", ...(isEighth(dtype) ? [] : (["i32", "i64", "bool"] as const))] as const).map(
      (to) => ({ to }),
    ),
    operands: ({ of }) => {
      const fraction = isFloat(dtype) ? 1 / 8 : 0;
      return [of(SHAPE, (at) => (dtype === "bool" ? at % 2 : at * 9 + (at % 3) * fraction))];
    },
  },
  Mod: {
    attributes: { fmod: isComputeFloat(dtype) },
    operands: ({ of }) => [of(SHAPE, "tame"), of(SHAPE, "tame")],
  },
  Where: { attributes: {}, operands: ({ of }) => [of(SHAPE, "distinct", "bool"), of(SHAPE), of(SHAPE)] },
  MatMul: { attributes: {}, operands: (kit) => whole(kit, [3, 3], [3, 3]) },
  Gemm: {
    attributes: { transA: false, transB: false, alpha: 1, beta: 1 },
    others: alone({ transA: [true], transB: [true], alpha: [2, 0.5, 0], beta: [2, -1, 0] }),
    operands: (kit) => whole(kit, [3, 3], [3, 3], [3]),
    optional: 1,
  },
  Einsum: {
    attributes: { equation: "ij,jk->ik" },
    others: alone({
      equation: "ij,jk->ki ij,kj->ik ji,jk->ik ij,ij->ij ij,ji->ij ij,jk->i ij,jk->k ij,jk->".split(" "),
    }),
    operands: (kit) => whole(kit, [3, 3], [3, 3]),
  },
  Attention: {
    attributes: { scale: 0.5, isCausal: false, softcap: 0 },
    others: [{ scale: 0.25 }, { isCausal: true }, { softcap: 2 }, { scale: 0.5078125 }],
    operands: (kit) => [
      ...positive(kit, [1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 2]),
      kit.of([3, 3], (at) => (at % 4) / 4),
    ],
    optional: 1,
  },
  AttentionGradient: {
    attributes: { scale: 0.5, isCausal: false, softcap: 0 },
    others: [{ scale: 0.25 }, { isCausal: true }, { softcap: 2 }],
    operands: (kit) => positive(kit, [1, 2, 3, 2], [1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 2]),
  },
  Conv: {
    attributes: { ...window, group: 1 },
    others: windows,
    operands: (kit) => whole(kit, [1, 2, 6, 6], [2, 2, 2, 2], [2]),
    optional: 1,
  },
  ConvTranspose: {
    attributes: { ...window, strides: [2, 2], group: 1, outputPadding: [0, 0] },
    others: [...windows, ...alone({ outputPadding: [[1, 0], [0, 1]] })], // biome-ignore format: one line
    operands: (kit) => whole(kit, [1, 2, 3, 3], [2, 2, 2, 2], [2]),
    optional: 1,
  },
  ConvWeightGradient: {
    attributes: { ...window, group: 1, kernelShape: [2, 2] },
    others: [onOneSide[0], onOneSide[2]].map((pads = []) => ({ pads, kernelShape: [3, 2] })),
    operands: (kit) => whole(kit, [2, 2, 4, 4], [2, 2, 3, 3]),
  },
  ArgMax: search,
  ArgMin: search,
  TopK: {
    attributes: { axis: 1, k: 2, largest: true },
    others: [{ axis: 0 }, { axis: 2 }, { k: 1 }, { k: 3 }, { largest: false }],
    operands: ({ of }) => [of([3, 3, 3])],
  },
  CumSum: {
    attributes: { axis: 1, exclusive: false, reverse: false },
    others: [
      ...alone({ axis: [0, 2], exclusive: [true], reverse: [true] }),
      { exclusive: true, reverse: true },
    ],
    operands: (kit) => whole(kit, [3, 3, 3]),
  },
  MaxPool: { attributes: pool, others: pools, operands: ({ of }) => [of([1, 2, 5, 5])] },
  AveragePool: {
    attributes: { ...pool, countIncludePad: false },
    others: [...pools, { pads: [1, 1, 1, 1] }, { pads: [1, 1, 1, 1], countIncludePad: true }],
    operands: (kit) => whole(kit, [1, 2, 5, 5]),
  },
  MaxPoolGradient: {
    attributes: pool,
    operands: ({ of, by }) => {
      const x = of([1, 2, 4, 4]);
      return [of([1, 2, 3, 3], "whole"), x, by("MaxPool", pool, x)];
    },
  },
  Softmax: share,
  LogSoftmax: share,
  LayerNormalization: {
    attributes: { axis: 2, epsilon: 0.5 },
    others: [{ epsilon: 0.625 }, { epsilon: 2 ** -20 }, { axis: 1 }, { axis: 0 }],
    operands: (kit) => positive(kit, [3, 3, 3], [3], [3]),
    optional: 1,
  },
  RMSNormalization: {
    attributes: { axis: 2, epsilon: 0.5 },
    others: [{ epsilon: 0.625 }, { epsilon: 2 ** -20 }, { axis: 1 }, { axis: 0 }],
    operands: (kit) => positive(kit, [3, 3, 3], [3]),
  },
  BatchNormalization: {
    attributes: { epsilon: 0.5 },
    others: [{ epsilon: 0.625 }, { epsilon: 2 ** -20 }],
    operands: (kit) => positive(kit, [3, 2, 3], [2], [2]),
  },
  BatchNormalizationGradient: {
    attributes: { epsilon: 0.5 },
    others: [{ epsilon: 0.625 }, { epsilon: 2 ** -20 }],
    operands: (kit) => {
      const [x, scale, bias] = positive(kit, [3, 2, 3], [2], [2]) as [Value, Value, Value];
      const [, mean, variance] = kit.all("BatchNormalization", { epsilon: 0.5 }, x, scale, bias) as [
        Value,
        Value,
        Value,
      ];
      return [kit.of([3, 2, 3], "whole"), x, scale, mean, variance];
    },
  },
  SoftmaxCrossEntropyLoss: loss,
  NegativeLogLikelihoodLoss: loss,
  Reshape: {
    attributes: { shape: [4, 6] },
    others: [{ shape: [6, 4] }, { shape: [24] }, { shape: [3, 2, 4] }, { shape: [4, 3, 2] }],
    operands: signed,
  },
  Transpose: {
    attributes: { perm: [0, 2, 1] },
    others: alone({ perm: permutations(3).filter((perm) => perm.join() !== "0,2,1") }),
    operands: ({ of }) => [of([3, 3, 3])],
  },
  Slice: {
    attributes: { axes: [1], starts: [1], ends: [3], steps: [1] },
    others: [
      { axes: [0] },
      { axes: [2] },
      { starts: [2], ends: [4] },
      { starts: [0], ends: [2] },
      { starts: [0], ends: [4], steps: [2] },
      { starts: [1], ends: [4], steps: [2] },
      { starts: [2], ends: [0], steps: [-1] },
      { ends: [4] },
    ],
    operands: ({ of }) => [of([4, 4, 4])],
  },
  Concat: {
    attributes: { axis: 1 },
    others: [{ axis: 0 }, { axis: 2 }],
    operands: ({ of }) => [of([3, 3, 3]), of([3, 3, 3])],
  },
  Split: {
    attributes: { axis: 0, split: [1, 3] },
    others: [{ axis: 1 }, { split: [3, 1] }, { split: [2, 2] }, { split: [1, 1, 2] }],
    operands: ({ of }) => [of([4, 4])],
  },
  Gather: {
    attributes: { axis: 1 },
    others: [{ axis: 0 }, { axis: 2 }],
    operands: (kit) => [kit.of([3, 3, 3]), indices(kit, [4], 3)],
  },
  GatherElements: {
    attributes: { axis: 1 },
    others: [{ axis: 0 }, { axis: 2 }],
    operands: (kit) => [kit.of([3, 3, 3]), indices(kit, [3, 3, 3], 3)],
  },
  GatherND: {
    attributes: { batchDims: 0 },
    others: [{ batchDims: 1 }],
    operands: (kit) => [kit.of([3, 3, 3]), indices(kit, [3, 2], 3)],
  },
  ScatterElements: {
    attributes: { axis: 1, reduction: "none" },
    others: [{ axis: 0 }, { axis: 2 }, ...reductions(dtype)],
    operands: ({ of }) => [
      of([3, 3, 3], dtype === "bool" ? "whole" : "tame"),
      of([3, 3, 3], (at) => (Math.floor(at / 9) + Math.floor(at / 3) + at) % 3, "i32"),
      of([3, 3, 3], dtype === "bool" ? "whole" : "tame"),
    ],
  },
  ScatterND: {
    attributes: { reduction: "none" },
    others: reductions(dtype),
    operands: ({ of, random }) => [
      of([3, 3], dtype === "bool" ? "whole" : "tame"),
      of([1, 1], () => random.integer(0, 2), "i32"),
      of([1, 3], dtype === "bool" ? "whole" : "tame"),
    ],
  },
  Expand: {
    attributes: { shape: [2, 3, 3] },
    others: [{ shape: [3, 3] }, { shape: [3, 3, 3] }, { shape: [1, 3, 3] }],
    operands: ({ of }) => [of([3, 1])],
  },
  Squeeze: {
    attributes: { axes: [0] },
    others: [{ axes: [2] }, { axes: [0, 2] }],
    operands: ({ of }) => [of([1, 3, 1, 2])],
  },
  Unsqueeze: {
    attributes: { axes: [0] },
    others: [{ axes: [1] }, { axes: [2] }, { axes: [0, 2] }],
    operands: ({ of }) => [of([3, 2])],
  },
  Pad: {
    attributes: { pads: [1, 1, 1, 1], mode: "constant", value: 0 },
    others: alone<OpAttributes["Pad"]>({
      pads: [[2, 1, 0, 1], [0, 1, 2, 1], [1, 2, 1, 0], [1, 0, 1, 2]], // biome-ignore format: one line
      mode: ["edge", "reflect"],
      value: isComputeFloat(dtype)
        ? [1, 1.5, -0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
        : [1],
    }),
    operands: ({ of }) => [of([3, 3])],
  },
  Tile: {
    attributes: { repeats: [2, 1] },
    others: alone({ repeats: [[1, 2], [3, 1], [2, 2], [1, 1], [1, 11], [11, 1]] }), // biome-ignore format: one line
    operands: ({ of }) => [of([3, 3])],
  },
  OneHot: {
    attributes: { axis: 1, depth: 3, dtype: "f32" },
    others: [{ axis: 0 }, { depth: 4 }, { dtype: "i32" }, { dtype: "f16" }, { dtype: "bf16" }],
    operands: (kit) => [indices(kit, [3], 3)],
  },
  Scan: {
    attributes: {
      body: body(isEighth(dtype) ? "f32" : dtype, true),
      carries: 1,
      sequences: 1,
      length: 3,
      reverse: false,
      saved: 0,
    },
    others: [{ reverse: true }, { body: body(isEighth(dtype) ? "f32" : dtype, false) }],
    operands: ({ of }) => [of([2], "whole"), of([3, 2], "whole")],
  },
  Constant: { attributes: { value: tensor(Float32Array.of(1)) }, operands: () => [] },
  Range: {
    attributes: { start: 0, limit: 6, delta: 1, dtype },
    others: [
      ...alone<OpAttributes["Range"]>({ start: [1], limit: [7], delta: [2, 4], dtype: ["f32", "i32"] }),
      { start: 2, limit: 8 },
      { start: 1, delta: 4 },
    ],
    operands: () => [],
  },
  RandomBits: {
    attributes: { key: 2n ** 63n + 1n, shape: [6] },
    others: alone({ key: [2n ** 63n + 2n, 1n, 2n ** 62n + 1n], shape: [[2, 3], [3, 2], [7]] }),
    operands: ({ of }) => [of([], () => 2 ** 30 + 5, "i32")],
  },
  Barrier: { attributes: {}, operands: ({ of }) => [of([3]), of([3])] },
});

type Forms = ReturnType<typeof formsFor>;
const made = new Map<DType, Forms>();

/** `formsFor`, computed once for each dtype. */
export function formTable(dtype: DType): Forms {
  const forms = made.get(dtype) ?? formsFor(dtype);
  made.set(dtype, forms);
  return forms;
}
