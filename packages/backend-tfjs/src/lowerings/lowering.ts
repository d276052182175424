import { type DType, type Shape, tensor } from "@mp/core";
import type { GraphNode, Value } from "@mp/core/graph";
import { bool, int, type TfAttributes, type TfWriter, type } from "../graph/tf-writer.js";

/** The operand at that index; a validated graph has it. */
export function operandAt(operands: readonly string[], index: number): string {
  const name = operands[index];
  if (name === undefined) throw new Error(`internal: operand ${index} is missing`);
  return name;
}

/** The type of a node's operand. */
export function typeAt(node: GraphNode, index: number): Value {
  const value = node.inputs[index];
  if (value === undefined) throw new Error(`internal: ${node.name} has no operand ${index}`);
  return value;
}

/** The type of a node's result. */
export function resultAt(node: GraphNode, index = 0): Value {
  const value = node.outputs[index];
  if (value === undefined) throw new Error(`internal: ${node.name} has no result ${index}`);
  return value;
}

/** Number of elements of a shape, or of a part of one. */
export function sizeOf(shape: Shape): number {
  return shape.reduce((product, dimension) => product * dimension, 1);
}

export function sameDimensions(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dimension, axis) => dimension === b[axis]);
}

/** The name itself where the shape stays the same; a Reshape copies nothing. */
export function reshape(name: string, dtype: DType, from: Shape, to: Shape, writer: TfWriter): string {
  if (sameDimensions(from, to)) return name;
  return writer.one("Reshape", [name, writer.ints(to)], { T: type(dtype), Tshape: type("i32") });
}

/**
 * TensorFlow's graph optimizer regroups sums and products of values with known shapes by laws that do not hold with
 * rounding: (x + a) - a becomes x, and overflows appear or vanish. It skips nodes that have its own markers for work
 * already done. Constants, which it moves for other reasons, are hidden from it by the writer.
 */
const asWritten: TfAttributes = {
  _grappler_ArithmeticOptimizer_MinimizeBroadcasts: bool(true),
  _grappler_ArithmeticOptimizer_AddOpsRewriteStage: bool(true),
};

const REGROUPED: ReadonlySet<string> = new Set(["AddV2", "Mul"]);

/** An op on operands of one dtype, which is its only attribute. */
export function emitT(op: string, operands: readonly string[], dtype: DType, writer: TfWriter): string {
  const keeps = REGROUPED.has(op) ? asWritten : {};
  return writer.one(op, operands, { T: type(dtype), ...keeps });
}

/** A reduction; where every reduced axis has size 1, only the shape changes. */
export function emitReduce(
  op: "Sum" | "Mean" | "Max" | "Min" | "Prod",
  x: string,
  { dtype, shape }: Pick<Value, "dtype" | "shape">,
  axes: readonly number[],
  keepdims: boolean,
  writer: TfWriter,
): string {
  if (axes.every((axis) => shape[axis] === 1)) {
    const kept = keepdims ? shape : shape.filter((_, axis) => !axes.includes(axis));
    return reshape(x, dtype, shape, kept, writer);
  }
  if (op === "Sum" && dtype === "f32" && isOverRows(shape, axes)) {
    const sum = writer.one("BiasAddGrad", [x], { T: type(dtype) });
    const [columns = 1] = shape.slice(-1);
    return keepdims ? reshape(sum, dtype, [columns], [...axes.map(() => 1), columns], writer) : sum;
  }
  if (op === "Max" || op === "Min") return emitExtreme(op, x, { dtype, shape }, axes, keepdims, writer);
  const attributes = { T: type(dtype), Tidx: type("i32"), keep_dims: bool(keepdims) };
  return writer.one(op, [x, writer.ints(axes)], attributes);
}

/**
 * TensorFlow's graph optimizer moves a maximum before an increasing function. That drops the NaN that a square root or
 * a logarithm returns for a smaller element, and negates the lowest integer. It does not look through a Reshape that changes the shape.
 */
function emitExtreme(
  op: "Max" | "Min",
  x: string,
  { dtype, shape }: Pick<Value, "dtype" | "shape">,
  axes: readonly number[],
  keepdims: boolean,
  writer: TfWriter,
): string {
  const hidden = reshape(x, dtype, shape, [1, ...shape], writer);
  const all = writer.ints([0, ...axes.map((axis) => axis + 1)]);
  const result = writer.one(op, [hidden, all], { T: type(dtype), Tidx: type("i32"), keep_dims: bool(false) });
  const reduced = shape.filter((_, axis) => !axes.includes(axis));
  const kept = shape.map((dimension, axis) => (axes.includes(axis) ? 1 : dimension));
  return reshape(result, dtype, reduced, keepdims ? kept : reduced, writer);
}

/**
 * Column sums of a matrix are several times as fast as the gradient of a bias, which in bf16 does not accumulate in
 * f32.
 */
export function isOverRows(shape: Shape, axes: readonly number[]): boolean {
  return (
    shape.length > 1 && axes.length === shape.length - 1 && !axes.includes(axes.length) && !shape.includes(0)
  );
}

/**
 * Pads a value with a number, that often before and after each axis; returns the name itself where there is nothing to
 * pad. Uses `PadV2`: TensorFlow's optimizer fuses a `Pad` into the Conv3D that reads it, and fails if another node
 * reads it too.
 */
export function padded(
  x: string,
  dtype: DType,
  widths: readonly (readonly [before: number, behind: number])[],
  value: number,
  writer: TfWriter,
): string {
  if (widths.flat().every((width) => width === 0)) return x;
  const pairs = writer.constant(tensor(Int32Array.from(widths.flat()), [widths.length, 2]));
  const attributes = { T: type(dtype), Tpaddings: type("i32") };
  return writer.one("PadV2", [x, pairs, writer.scalar(value, dtype)], attributes);
}

/** The part of that size from that position on. */
export function cut(
  x: string,
  dtype: DType,
  begin: readonly number[],
  size: Shape,
  writer: TfWriter,
): string {
  return writer.one("Slice", [x, writer.ints(begin), writer.ints(size)], {
    T: type(dtype),
    Index: type("i32"),
  });
}

/** As `transposed`, but a reshape where only axes of size 1 move, which copies nothing. */
export function axesMoved(
  x: string,
  { dtype, shape }: Pick<Value, "dtype" | "shape">,
  perm: readonly number[],
  writer: TfWriter,
): string {
  const long = perm.filter((axis) => shape[axis] !== 1);
  const isMoved = long.some((axis, index) => index > 0 && axis < (long[index - 1] ?? 0));
  if (isMoved) return transposed(x, dtype, perm, writer);
  const to = perm.map((axis) => shape[axis] ?? 1);
  return reshape(x, dtype, shape, to, writer);
}

/** Attributes of a strided slice; bits of `openEnds` mark axes that are sliced to their end. */
export const strideAttributes = (dtype: DType, openEnds = 0): TfAttributes => ({
  T: type(dtype),
  Index: type("i32"),
  begin_mask: int(0),
  end_mask: int(openEnds),
  ellipsis_mask: int(0),
  new_axis_mask: int(0),
  shrink_axis_mask: int(0),
});

/** Axes in the order of `perm`. */
export function transposed(x: string, dtype: DType, perm: readonly number[], writer: TfWriter): string {
  return writer.one("Transpose", [x, writer.ints(perm)], { T: type(dtype), Tperm: type("i32") });
}
