import type { OpOf, Shape } from "@mp/graph";
import { dot } from "../stablehlo/dot.js";
import type { Emitter } from "../stablehlo/emitter.js";
import { type Operand, range, rankOf, shapeOf } from "../stablehlo/operand.js";
import { type Lowering, type LoweringTable, resultType } from "./lowering.js";

/** A batch of matrices, which lacks the batch axes along which they repeat, and the indices of its axes. */
interface Matrices {
  readonly value: Operand;
  /** The index in `value` of each batch axis of the product; undefined where the matrices repeat. */
  readonly places: readonly (number | undefined)[];
}

function matricesOf(emitter: Emitter, x: Operand, batch: Shape): Matrices {
  const own = shapeOf(x).slice(0, -2);
  const before = batch.length - own.length;
  const isOwn = batch.map((size, axis) => own[axis - before] === size);
  let next = 0;
  const places = isOwn.map((kept) => (kept ? next++ : undefined));
  const shape = [...batch.filter((_, axis) => isOwn[axis]), ...shapeOf(x).slice(-2)];
  return { value: emitter.reshape(x, shape), places };
}

/**
 * Emits one product, whose batch axes are those that both operands have. A batch axis of only one operand
 * becomes a free axis of that operand, so that no matrix is repeated in memory.
 */
const matMul: Lowering<"MatMul"> = (emitter, node, [left, right]) => {
  const { dtype, shape } = resultType(node);
  const isVector = [rankOf(left) === 1, rankOf(right) === 1];
  const batch = shape.slice(0, shape.length - isVector.filter((vector) => !vector).length);
  const a = matricesOf(emitter, isVector[0] ? emitter.reshape(left, [1, ...shapeOf(left)]) : left, batch);
  const b = matricesOf(emitter, isVector[1] ? emitter.reshape(right, [...shapeOf(right), 1]) : right, batch);
  const axes = range(batch.length);
  const shared = axes.filter((axis) => a.places[axis] !== undefined && b.places[axis] !== undefined);
  const placesIn = ({ places }: Matrices): readonly number[] =>
    shared.map((axis) => places[axis]).filter((place) => place !== undefined);
  const product = dot(
    emitter,
    a.value,
    b.value,
    { batch: [placesIn(a), placesIn(b)], summed: [[rankOf(a.value) - 1], [rankOf(b.value) - 2]] },
    dtype,
  );
  // The product's axes: shared batch axes, batch axes of a alone, rows, batch axes of b alone, columns.
  const alone = ({ places }: Matrices): readonly number[] =>
    axes.filter((axis) => places[axis] !== undefined && !shared.includes(axis));
  const order = [...shared, ...alone(a), batch.length, ...alone(b), batch.length + 1];
  const permutation = range(order.length).map((axis) => order.indexOf(axis));
  return [emitter.reshape(emitter.transpose(product, permutation), shape)];
};

/** Computes in f32 and rounds once. */
const gemm: Lowering<"Gemm"> = (emitter, node, [a, b, c]) => {
  const { transA, transB, alpha, beta } = node.attributes;
  const { dtype, shape } = resultType(node);
  const summed = [[transA ? 0 : 1], [transB ? 1 : 0]] as const;
  const scaled = (x: Operand, factor: number): Operand =>
    factor === 1 ? x : emitter.binary("multiply", x, factor);
  const isProduct = alpha === 1 && c === undefined;
  const product = scaled(dot(emitter, a, b, { batch: [[], []], summed }, isProduct ? dtype : "f32"), alpha);
  if (c === undefined) return [emitter.convert(product, dtype)];
  const bias = scaled(emitter.expand(emitter.convert(c, "f32"), shape), beta);
  return [emitter.convert(emitter.binary("add", product, bias), dtype)];
};

export const matrixLowerings: LoweringTable<OpOf<"matrix">> = {
  MatMul: matMul,
  Gemm: gemm,
  Einsum: (_, { name }) => {
    throw new Error(`internal: ${name} is emitted as products of matrices`);
  },
};
