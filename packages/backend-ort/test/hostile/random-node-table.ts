/**
 * A node of every op with attributes at the edges, and operands for it. Some are invalid, which type inference finds
 * out.
 */
import {
  type DType,
  type HostTensor,
  isFloat,
  type Op,
  type OpAttributes,
  REDUCE_OPS,
  rowsOf,
  type Shape,
} from "@mp/graph";
import fc from "fast-check";
import { indices, shapeOf, size, values } from "./random-data.js";

type Attributes = OpAttributes[Op];

export interface Drawn {
  readonly attributes: Attributes;
  readonly inputs: readonly HostTensor[];
}

type Draw = (dtype: DType) => fc.Arbitrary<Drawn>;

/** `attributes` and operands of those shapes, all of one dtype. */
function drawn(attributes: Attributes, dtype: DType, ...shapes: readonly Shape[]): fc.Arbitrary<Drawn> {
  return fc.tuple(...shapes.map((shape) => values(dtype, shape))).map((inputs) => ({ attributes, inputs }));
}

const bool = fc.boolean();
const axisOf = (shape: Shape): fc.Arbitrary<number> => fc.nat({ max: Math.max(0, shape.length - 1) });
const axesOf = (shape: Shape, minLength = 1): fc.Arbitrary<number[]> =>
  shape.length === 0
    ? fc.constant([])
    : fc.subarray(
        shape.map((_, axis) => axis),
        { minLength },
      );

const unary =
  (attributes: fc.Arbitrary<Attributes>): Draw =>
  (dtype) =>
    fc.tuple(attributes, shapeOf()).chain(([given, shape]) => drawn(given, dtype, shape));
const plain = unary(fc.constant({}));

/** Two shapes that broadcast: axes of one are 1 or missing in the other. */
const broadcastPair: fc.Arbitrary<readonly [Shape, Shape]> = shapeOf({ max: 3 }).chain((shape) =>
  fc
    .tuple(
      fc.array(bool, { minLength: shape.length, maxLength: shape.length }),
      fc.nat({ max: shape.length }),
      bool,
    )
    .map(([ones, missing, isSwapped]): readonly [Shape, Shape] => {
      const other = shape.map((dimension, axis) => (ones[axis] === true ? 1 : dimension)).slice(missing);
      return isSwapped ? [other, shape] : [shape, other];
    }),
);
const binary =
  (attributes: (dtype: DType) => Attributes): Draw =>
  (dtype) =>
    broadcastPair.chain(([a, b]) => drawn(attributes(dtype), dtype, a, b));
const both = binary(() => ({}));

const reduce: Draw = (dtype) =>
  shapeOf().chain((shape) =>
    fc.tuple(axesOf(shape), bool).chain(([axes, keepdims]) => drawn({ axes, keepdims }, dtype, shape)),
  );
const alongAxis =
  (attributes: (axis: number, shape: Shape) => fc.Arbitrary<Attributes>): Draw =>
  (dtype) =>
    shapeOf({ min: 1 }).chain((shape) =>
      axisOf(shape)
        .chain((axis) => attributes(axis, shape))
        .chain((given) => drawn(given, dtype, shape)),
    );
const search = alongAxis((axis) => bool.map((keepdims) => ({ axis, keepdims })));

const small = fc.integer({ min: 1, max: 3 });
const list = (each: fc.Arbitrary<number>, length: number): fc.Arbitrary<number[]> =>
  fc.array(each, { minLength: length, maxLength: length });

interface Window {
  readonly strides: number[];
  readonly pads: number[];
  readonly dilations: number[];
}
const windowOf = (rank: number): fc.Arbitrary<Window> =>
  fc.record({
    strides: list(small, rank),
    pads: list(fc.nat({ max: 2 }), 2 * rank),
    dilations: list(fc.integer({ min: 1, max: 2 }), rank),
  });
const batch = fc.constantFrom(0, 1, 1, 2, 3);
const channels = fc.constantFrom(1, 1, 2, 3, 4, 8, 16);
const spatial = fc.integer({ min: 1, max: 3 }).chain((rank) => list(fc.integer({ min: 1, max: 6 }), rank));

const convolution =
  (isTransposed: boolean): Draw =>
  (dtype) =>
    fc
      .tuple(batch, channels, channels, fc.constantFrom(1, 1, 2, 8), spatial, bool)
      .chain(([n, perGroup, results, group, sizes, hasBias]) =>
        fc.tuple(windowOf(sizes.length), list(small, sizes.length)).chain(([window, kernel]) => {
          const x = [n, perGroup * group, ...sizes];
          const w = isTransposed
            ? [perGroup * group, results, ...kernel]
            : [results * group, perGroup, ...kernel];
          const attributes = {
            ...window,
            group,
            ...(isTransposed ? { outputPadding: sizes.map(() => 0) } : {}),
          };
          return drawn(attributes, dtype, x, w, ...(hasBias ? [[results * group]] : []));
        }),
      );

const pooled =
  (more: fc.Arbitrary<object>): Draw =>
  (dtype) =>
    fc
      .tuple(fc.constantFrom(0, 1, 2), fc.constantFrom(0, 1, 3, 16), spatial, more)
      .chain(([n, c, sizes, rest]) =>
        fc
          .tuple(windowOf(sizes.length), list(small, sizes.length), bool)
          .chain(([window, kernelShape, ceilMode]) =>
            drawn({ ...window, kernelShape, ceilMode, ...rest } as unknown as Attributes, dtype, [
              n,
              c,
              ...sizes,
            ]),
          ),
      );

const loss: Draw = (dtype) =>
  fc
    .tuple(
      shapeOf({ min: 2, max: 4 }),
      fc.constantFrom("mean", "sum", "none" as const),
      fc.constantFrom(undefined, 0, 1, -100),
      bool,
    )
    .chain(([shape, reduction, ignoreIndex, isWeighted]) => {
      const [n = 0, c = 0, ...rest] = shape;
      const attributes = {
        reduction: reduction as "mean",
        ...(ignoreIndex === undefined ? {} : { ignoreIndex }),
      };
      const labels = indices([n, ...rest], c);
      const weights = isWeighted ? [values(dtype, [c])] : [];
      return fc
        .tuple(values(dtype, shape), labels, ...weights)
        .map((inputs) => ({ attributes, inputs }) as Drawn);
    });

/** x and the tail of its shape, for scale and bias. */
const normalized =
  (parts: number): Draw =>
  (dtype) =>
    shapeOf({ min: 1 }).chain((shape) =>
      fc.tuple(axisOf(shape), bool).chain(([axis, isWhole]) => {
        const part = isWhole ? shape.slice(axis) : [1];
        return drawn(
          { axis, epsilon: 0.5 } as Attributes,
          dtype,
          shape,
          ...new Array<Shape>(parts).fill(part),
        );
      }),
    );

const scattered = fc.constantFrom("none", "add", "mul", "max", "min" as const);

const nodes: { readonly [K in Op]?: Draw } = {
  Abs: plain,
  Neg: plain,
  Sign: plain,
  Floor: plain,
  Ceil: plain,
  Round: plain,
  Reciprocal: plain,
  Exp: plain,
  Log: plain,
  Sqrt: plain,
  Erf: plain,
  Tanh: plain,
  Sigmoid: plain,
  Relu: plain,
  Softplus: plain,
  Sin: plain,
  Cos: plain,
  Not: plain,
  IsNaN: plain,
  IsInf: plain,
  Identity: plain,
  LeakyRelu: unary(fc.constant({ alpha: 0.5 })),
  Elu: unary(fc.constant({ alpha: 0.5 })),
  Gelu: unary(fc.constantFrom({ approximate: "none" as const }, { approximate: "tanh" as const })),
  Clip: unary(fc.constantFrom({}, { min: 1 }, { max: 3 }, { min: -1, max: 2 ** 40 }, { min: 2, max: 100 })),
  Cast: unary(
    fc
      .constantFrom("f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i32", "i64", "u64", "u8", "bool" as const)
      .map((to) => ({ to: to as DType })),
  ),
  Add: both,
  Sub: both,
  Mul: both,
  Div: both,
  Pow: both,
  Mod: binary((dtype) => ({ fmod: isFloat(dtype) })),
  Min: both,
  Max: both,
  Equal: both,
  Greater: both,
  GreaterOrEqual: both,
  Less: both,
  LessOrEqual: both,
  And: both,
  Or: both,
  Xor: both,
  Where: (dtype) =>
    broadcastPair.chain(([a, b]) =>
      fc
        .tuple(values("bool", a), values(dtype, b), values(dtype, a))
        .map((inputs) => ({ attributes: {}, inputs })),
    ),
  MatMul: (dtype) =>
    fc
      .tuple(shapeOf({ max: 2 }), shapeOf({ max: 1 }), size, size, size, fc.nat({ max: 5 }))
      .chain(([left, right, m, k, n, form]) => {
        const a = form === 0 ? [k] : [...left, m, k];
        const b = form === 1 ? [k] : [...(form === 2 ? left : right), k, n];
        return drawn({}, dtype, a, b);
      }),
  Gemm: (dtype) =>
    fc
      .tuple(
        size,
        size,
        size,
        bool,
        bool,
        fc.constantFrom(0, 0.5, 1),
        fc.constantFrom(0, 0.5, 1),
        fc.nat({ max: 5 }),
      )
      .chain(([m, k, n, transA, transB, alpha, beta, form]) => {
        const c = [[], [[]], [[n]], [[m, n]], [[m, 1]], [[1, n]]][form] as readonly Shape[];
        return drawn(
          { transA, transB, alpha, beta },
          dtype,
          transA ? [k, m] : [m, k],
          transB ? [n, k] : [k, n],
          ...c,
        );
      }),
  Conv: convolution(false),
  ConvTranspose: convolution(true),
  ...rowsOf(REDUCE_OPS, () => reduce),
  ArgMax: search,
  ArgMin: search,
  TopK: alongAxis((axis, shape) =>
    fc
      .tuple(fc.integer({ min: 1, max: Math.max(1, shape[axis] ?? 1) }), bool)
      .map(([k, largest]) => ({ axis, k, largest })),
  ),
  CumSum: alongAxis((axis) =>
    fc.tuple(bool, bool).map(([exclusive, reverse]) => ({ axis, exclusive, reverse })),
  ),
  MaxPool: pooled(fc.constant({})),
  AveragePool: pooled(bool.map((countIncludePad) => ({ countIncludePad }))),
  Softmax: alongAxis((axis) => fc.constant({ axis })),
  LogSoftmax: alongAxis((axis) => fc.constant({ axis })),
  SoftmaxCrossEntropyLoss: loss,
  NegativeLogLikelihoodLoss: loss,
  LayerNormalization: (dtype) => bool.chain((hasBias) => normalized(hasBias ? 2 : 1)(dtype)),
  RMSNormalization: normalized(1),
  BatchNormalization: (dtype) =>
    shapeOf({ min: 2, max: 4 }).chain((shape) =>
      drawn({ epsilon: 0.5 }, dtype, shape, [shape[1] ?? 0], [shape[1] ?? 0]),
    ),
  Reshape: (dtype) =>
    shapeOf().chain((shape) =>
      fc
        .shuffledSubarray([...shape, 1], { minLength: shape.length + 1 })
        .chain((other) => drawn({ shape: other }, dtype, shape)),
    ),
  Transpose: (dtype) =>
    shapeOf().chain((shape) =>
      fc
        .shuffledSubarray(
          shape.map((_, axis) => axis),
          { minLength: shape.length },
        )
        .chain((perm) => drawn({ perm }, dtype, shape)),
    ),
  Slice: (dtype) =>
    shapeOf({ min: 1 }).chain((shape) =>
      axesOf(shape, 0).chain((axes) =>
        fc.tuple(...axes.map((axis) => sliceOf(shape[axis] ?? 0))).chain((slices) =>
          drawn(
            {
              axes,
              starts: slices.map(([start]) => start),
              ends: slices.map(([, end]) => end),
              steps: slices.map(([, , step]) => step),
            },
            dtype,
            shape,
          ),
        ),
      ),
    ),
  Concat: (dtype) =>
    shapeOf({ min: 1, max: 3 }).chain((shape) =>
      fc
        .tuple(axisOf(shape), fc.array(size, { minLength: 1, maxLength: 3 }))
        .chain(([axis, sizes]) =>
          drawn({ axis }, dtype, ...sizes.map((part) => shape.map((d, at) => (at === axis ? part : d)))),
        ),
    ),
  Split: (dtype) =>
    shapeOf({ min: 1, max: 3 }).chain((shape) =>
      fc.tuple(axisOf(shape), fc.array(size, { minLength: 1, maxLength: 3 })).chain(([axis, split]) => {
        const whole = split.reduce((sum, part) => sum + part, 0);
        return drawn(
          { axis, split },
          dtype,
          shape.map((d, at) => (at === axis ? whole : d)),
        );
      }),
    ),
  Gather: (dtype) =>
    fc
      .tuple(shapeOf({ min: 1, max: 3 }), shapeOf({ max: 2 }))
      .chain(([shape, where]) =>
        axisOf(shape).chain((axis) =>
          fc
            .tuple(values(dtype, shape), indices(where, shape[axis] ?? 0))
            .map((inputs) => ({ attributes: { axis }, inputs })),
        ),
      ),
  GatherElements: (dtype) =>
    shapeOf({ min: 1, max: 3 }).chain((shape) =>
      fc.tuple(axisOf(shape), size).chain(([axis, count]) =>
        fc
          .tuple(
            values(dtype, shape),
            indices(
              shape.map((d, at) => (at === axis ? count : d)),
              shape[axis] ?? 0,
            ),
          )
          .map((inputs) => ({ attributes: { axis }, inputs })),
      ),
    ),
  GatherND: (dtype) =>
    fc
      .tuple(shapeOf({ min: 1, max: 3 }), size)
      .chain(([shape, count]) =>
        fc
          .integer({ min: 1, max: shape.length })
          .chain((depth) =>
            fc
              .tuple(values(dtype, shape), indices([count, depth], Math.min(...shape.slice(0, depth))))
              .map((inputs) => ({ attributes: { batchDims: 0 }, inputs })),
          ),
      ),
  ScatterElements: (dtype) =>
    shapeOf({ min: 1, max: 3 }).chain((shape) =>
      fc.tuple(axisOf(shape), size, scattered).chain(([axis, count, reduction]) => {
        const where = shape.map((d, at) => (at === axis ? count : d));
        return fc
          .tuple(values(dtype, shape), indices(where, shape[axis] ?? 0), values(dtype, where))
          .map((inputs) => ({ attributes: { axis, reduction: reduction as "none" }, inputs }));
      }),
    ),
  ScatterND: (dtype) =>
    fc
      .tuple(shapeOf({ min: 1, max: 3 }), size, scattered)
      .chain(([shape, count, reduction]) =>
        fc
          .integer({ min: 1, max: shape.length })
          .chain((depth) =>
            fc
              .tuple(
                values(dtype, shape),
                indices([count, depth], Math.min(...shape.slice(0, depth))),
                values(dtype, [count, ...shape.slice(depth)]),
              )
              .map((inputs) => ({ attributes: { reduction: reduction as "none" }, inputs })),
          ),
      ),
  Expand: (dtype) => broadcastPair.chain(([a, b]) => drawn({ shape: a }, dtype, b)),
  Squeeze: (dtype) =>
    shapeOf().chain((shape) => {
      const ones = shape.flatMap((d, axis) => (d === 1 ? [axis] : []));
      return fc.subarray(ones).chain((axes) => drawn({ axes }, dtype, shape));
    }),
  Unsqueeze: (dtype) =>
    shapeOf({ max: 3 }).chain((shape) =>
      axesOf([...shape, 1]).chain((axes) => drawn({ axes: axes.slice(0, 1) }, dtype, shape)),
    ),
  Pad: (dtype) =>
    shapeOf({ max: 3 }).chain((shape) =>
      fc
        .tuple(
          list(fc.nat({ max: 3 }), 2 * shape.length),
          fc.constantFrom("constant", "reflect", "edge" as const),
        )
        .chain(([pads, mode]) => drawn({ pads, mode: mode as "edge", value: 1 }, dtype, shape)),
    ),
  Tile: (dtype) =>
    shapeOf({ max: 3 }).chain((shape) =>
      list(fc.nat({ max: 2 }), shape.length).chain((repeats) => drawn({ repeats }, dtype, shape)),
    ),
  OneHot: () =>
    fc
      .tuple(
        shapeOf({ max: 3 }),
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom("f32", "f16", "bf16", "i32" as const),
      )
      .chain(([shape, depth, to]) =>
        fc.tuple(fc.nat({ max: shape.length }), indices(shape, depth)).map(([axis, x]) => ({
          attributes: { axis, depth, dtype: to as "f32" },
          inputs: [x],
        })),
      ),
  RandomBits: () => shapeOf().chain((shape) => drawn({ key: 0x9e3779b97f4a7c15n, shape }, "i32", [])),
};

/** Start, end and step as the graph has them: clamped to the axis. */
function sliceOf(dimension: number): fc.Arbitrary<readonly [number, number, number]> {
  const step = fc.constantFrom(1, 2, 3, -1, -2, 1000, -1000);
  return step.chain((by) =>
    by > 0
      ? fc.tuple(fc.nat({ max: dimension }), fc.nat({ max: dimension }), fc.constant(by))
      : fc.tuple(
          fc.integer({ min: -1, max: dimension - 1 }),
          fc.integer({ min: -1, max: dimension - 1 }),
          fc.constant(by),
        ),
  );
}

/** Nodes of that op whose data is of that dtype; undefined for an op without operands. */
export function randomNode(op: Op, dtype: DType): fc.Arbitrary<Drawn> | undefined {
  return nodes[op]?.(dtype);
}

export const RANDOM_OPS: readonly Op[] = Object.keys(nodes) as Op[];
