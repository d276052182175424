/** A differentiable function of one op, with points to differentiate it at. */
import { type Shape, type Tensor, tensor } from "@mp/core";
import { elementCount, type Op } from "@mp/core/graph";
import { constant } from "@mp/core/ops";

export interface Point {
  readonly shape: Shape;
  readonly data: readonly number[];
}

export interface GradientSample {
  /** Names the behavior; unique for its op. */
  readonly behaviour: string;
  readonly fn: (...inputs: readonly Tensor[]) => Tensor;
  readonly points: readonly Point[];
}

/** Why an op has no gradient cases: its result is not a float, it is piecewise constant, or it has no operands. */
export interface NoGradient {
  readonly none: string;
}

export type GradientRows<O extends Op> = { readonly [K in O]: readonly GradientSample[] | NoGradient };

export const sample = (
  behaviour: string,
  fn: GradientSample["fn"],
  ...points: readonly Point[]
): GradientSample => ({ behaviour, fn, points });

/** Spread over -1.5 … 1.5, all different and none near 0. */
export function spread(shape: Shape, turn = 0): Point {
  const size = elementCount(shape, "test data");
  const data = Array.from({ length: size }, (_, at) => {
    const x = (((at + 1) * 0.6180339887 + turn * 0.4142135624) % 1) - 0.5;
    return (x < 0 ? -0.1 : 0.1) + 2.8 * x;
  });
  return { shape, data };
}

/** `spread`, positive and away from 0. */
export function positive(shape: Shape, turn = 0): Point {
  return { shape, data: spread(shape, turn).data.map((x) => Math.abs(x) + 0.3) };
}

export const numbers = (...data: readonly number[]): Point => ({ shape: [data.length], data });

/** i32 data as a tensor of the graph. */
export function indices(data: readonly number[], shape: Shape = [data.length]): Tensor {
  return constant(tensor(Int32Array.from(data), shape));
}
