/** Small problems with known gradients, so that every addition, update or skip is visible exactly. */

import { type LossFunction, type Optimizer, sgd } from "@mp/core";
import { elementCount, type HostTensor, type Shape, type Tensor, tensor } from "@mp/graph";
import { matMul, mul, reduceSum } from "@mp/graph/ops";

export const vector = (...numbers: readonly number[]): HostTensor<"f32"> =>
  tensor(Float32Array.from(numbers));
export const fill = (shape: Shape, value: number): HostTensor<"f32"> =>
  tensor(new Float32Array(elementCount(shape, "test data")).fill(value), shape);

export type WeightsOf = { readonly w: HostTensor<"f32"> };
export type Fed = { readonly x: Tensor };
export type NoModel = Readonly<Record<never, never>>;

/** Σ w · x, whose gradient is x; it is computed in f32 under any policy. */
export const linear: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }) => reduceSum(mul(w, x));

/** w · x as a matrix product of [1, n] by [n, 1]. Policies lower it, so the gradient xᵀ is in the half dtype. */
export const product: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }) => reduceSum(matMul(w, x));

/** Gradient descent with a power of two as its rate, so that no update rounds while weights are small. */
export const exactSgd = (learningRate: number = 2 ** -3): Optimizer => sgd({ learningRate });
