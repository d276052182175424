import { type DType, isEighth } from "../../dtype.js";
import type { Op, OpAttributes } from "../../graph/attributes.js";
import type { ValueType } from "../../graph/graph.js";
import { type Shape, sameShape } from "../../shape.js";
import { expand, reshape, transpose } from "../../trace/ops/movement.js";
import { reduceSum } from "../../trace/ops/reduce.js";
import { literal } from "../../trace/ops/source.js";
import { cast } from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import type { Differentiate } from "./gradient-request.js";

/**
 * A forward node as its gradient rule sees it. Types can be read at no cost; `input` and `output` make the backward
 * pass read a forward value, which keeps it alive until then (or has it recomputed).
 */
export interface GradientSite<K extends Op> {
  readonly attributes: OpAttributes[K];
  readonly inputTypes: readonly ValueType[];
  /** The type of an operand that the op always has. */
  readonly inputType: (index: number) => ValueType;
  readonly outputTypes: readonly ValueType[];
  readonly input: (index: number) => Tensor;
  readonly output: (index: number) => Tensor;
  /** Gradient of the loss with respect to an output, of the same type; zeros if the loss does not depend on it. */
  readonly gradient: (index: number) => Tensor;
  /** Whether the loss depends on that output. */
  readonly receives: (index: number) => boolean;
  /** Whether a gradient is wanted for that input; the rule's gradients for other inputs are dropped. */
  readonly needs: (index: number) => boolean;
  /** Whether two operands are one value. */
  readonly same: (a: number, b: number) => boolean;
  /** The number that an operand holds if it is a literal; undefined for other operands. */
  readonly literal: (index: number) => number | undefined;
  /** Differentiates a graph that is an attribute of the node. */
  readonly differentiate: Differentiate;
  /** @throws MP_NOT_DIFFERENTIABLE with that reason, the node's name and the user's line */
  readonly refuse: (reason: string) => never;
}

/** Returns the gradient of each input, in the input's shape and dtype; undefined stands for zero. */
export type GradientRule<K extends Op> = (site: GradientSite<K>) => readonly (Tensor | undefined)[];

/** The gradient is zero for the reason `zero`: the operator is piecewise constant, or its output is not floating. */
export interface ZeroGradient {
  readonly zero: string;
}

/** Differentiating through the operator is an error with this reason. */
export interface NoGradient {
  readonly notDifferentiable: string;
}

export type GradientRow<K extends Op> = GradientRule<K> | ZeroGradient | NoGradient;
export type GradientTable<O extends Op> = { readonly [K in O]: GradientRow<K> };

/** The dtype of a value's gradient: `dtype`, but f32 for the storage-only f8 dtypes, which cannot be added. */
export function gradientDType(dtype: DType): DType {
  return isEighth(dtype) ? "f32" : dtype;
}

/** Zeros without host data, made by expanding a literal. */
export function zeroGradient(type: ValueType): Tensor {
  const zero = literal(0, gradientDType(type.dtype));
  return type.shape.length === 0 ? zero : expand(zero, type.shape);
}

/** Casts to f32, for formulas of many steps; `narrow` rounds their result once. */
export function wide(x: Tensor): Tensor {
  return cast(x, "f32");
}

/** Casts a result of `wide` operands back to the dtype of `type`. */
export function narrow(x: Tensor, type: ValueType): Tensor {
  return cast(x, type.dtype);
}

/** The inverse of broadcasting: sums over the axes along which a value of the given shape was repeated. */
export function unbroadcast(gradient: Tensor, shape: Shape): Tensor {
  if (sameShape(gradient.shape, shape)) return gradient;
  const lead = gradient.shape.length - shape.length;
  const axes = gradient.shape.flatMap((size, axis) =>
    axis < lead || (shape[axis - lead] === 1 && size !== 1) ? [axis] : [],
  );
  if (axes.every((axis) => gradient.shape[axis] === 1)) return reshape(gradient, shape);
  const sum = reduceSum(gradient, { axes, keepdims: lead === 0 });
  return sameShape(sum.shape, shape) ? sum : reshape(sum, shape);
}

/** Transposes the last two axes. */
export function swapLast(x: Tensor): Tensor {
  const axes = x.shape.map((_, axis) => axis);
  return transpose(x, [...axes.slice(0, -2), axes.length - 1, axes.length - 2]);
}

/** Reshapes, unless the tensor already has the shape. */
export function toShape(x: Tensor, shape: Shape): Tensor {
  return sameShape(x.shape, shape) ? x : reshape(x, shape);
}
