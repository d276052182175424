/** A differentiable function of one op, with points at which to differentiate it. */
import { elementCount, type Shape, type Tensor, tensor } from "@mp/graph";
import { constant } from "@mp/graph/ops";

export interface Point {
  readonly shape: Shape;
  readonly data: readonly number[];
}

export interface GradientSample {
  /** Name of the behavior; unique for its op. */
  readonly behaviour: string;
  readonly fn: (...inputs: readonly Tensor[]) => Tensor;
  readonly points: readonly Point[];
  /** Whether the function is differentiated twice, in f32. */
  readonly isTwice?: boolean;
}

/** Reason that an op has no gradient cases: a result that is no float or piecewise constant, or no operands. */
export interface NoGradient {
  readonly none: string;
}

export type Gradients = readonly GradientSample[] | NoGradient;

/** Makes a sample. `fn` is called with one operand per point. */
export const gradient = <const P extends readonly Point[]>(
  behaviour: string,
  points: P,
  fn: (...inputs: { readonly [I in keyof P]: Tensor }) => Tensor,
): GradientSample => ({ behaviour, fn: fn as GradientSample["fn"], points });

/** Marks the first sample, which must be smooth enough, to be differentiated twice. */
export const twice = (samples: readonly GradientSample[]): readonly GradientSample[] =>
  samples.map((sample, at) => (at === 0 ? { ...sample, isTwice: true } : sample));

/** Numbers spread over -1.5 … 1.5, all different and none near 0. */
export function spread(shape: Shape, turn = 0): Point {
  const size = elementCount(shape, "test data");
  const data = Array.from({ length: size }, (_, at) => {
    const x = (((at + 1) * 0.6180339887 + turn * 0.4142135624) % 1) - 0.5;
    return (x < 0 ? -0.1 : 0.1) + 2.8 * x;
  });
  return { shape, data };
}

/** Like `spread`, but all positive and away from 0. */
export function positivePoint(shape: Shape, turn = 0): Point {
  return { shape, data: spread(shape, turn).data.map((x) => Math.abs(x) + 0.3) };
}

export const pointAt = (...data: readonly number[]): Point => ({ shape: [data.length], data });

/** i32 data as a tensor of the graph. */
export function indexTensor(data: readonly number[], shape: Shape = [data.length]): Tensor {
  return constant(tensor(Int32Array.from(data), shape));
}

export type Unary = (x: Tensor) => Tensor;

export const STEPS = { none: "constant between its steps" };

export const PREDICATE = { none: "gives no float" };

export const SOURCE = { none: "has no floating operand" };
