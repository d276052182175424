/** Arithmetic operations of an operator by its definition. A multiply-add counts as two, a function as one. */
import { elementCount } from "../shape.js";
import type { Op, OpAttributes } from "./attributes.js";
import type { ValueType } from "./graph.js";

export type FlopsRule<K extends Op> = (
  inputs: readonly ValueType[],
  outputs: readonly ValueType[],
  attributes: OpAttributes[K],
) => number;

export const size = (types: readonly ValueType[], index: number): number => {
  const type = types[index];
  return type === undefined ? 0 : elementCount(type.shape, "cost");
};

/** Counts `count` operations per element of the first result. */
export const perResult =
  (count: number) =>
  (_: readonly ValueType[], outputs: readonly ValueType[]): number =>
    count * size(outputs, 0);

/** Counts `count` operations per element of the first operand, and `ofResult` per element of the first result. */
export const perOperand =
  (count: number, ofResult = 0) =>
  (inputs: readonly ValueType[], outputs: readonly ValueType[]): number =>
    count * size(inputs, 0) + ofResult * size(outputs, 0);

export const windowSize = (kernelShape: readonly number[]): number =>
  kernelShape.reduce((product, length) => product * length, 1);

export const none = (): number => 0;

/** Number of weights of one kernel of a convolution, over the channels of its group. */
export const taps = (weights: ValueType | undefined): number =>
  weights === undefined ? 0 : elementCount(weights.shape.slice(1), "cost");

/** Counts one operation per update, or none if updates only replace. */
export const perUpdate = (
  inputs: readonly ValueType[],
  _: readonly ValueType[],
  { reduction }: { readonly reduction: string },
): number => (reduction === "none" ? 0 : size(inputs, 2));
