import type { DType, Shape, ValueType } from "@mp/graph";

/** An SSA value of the text: its name, such as `%7` or `%7#1`, and its type. */
export interface Operand {
  readonly name: string;
  readonly type: ValueType;
}

export const dtypeOf = (x: Operand): DType => x.type.dtype;
export const shapeOf = (x: Operand): Shape => x.type.shape;
export const rankOf = (x: Operand): number => x.type.shape.length;

/** The size of an axis, which must exist. */
export function sizeOf(x: Operand, axis: number): number {
  const size = x.type.shape[axis];
  if (size === undefined) throw new Error(`internal: ${x.name} has no axis ${axis}`);
  return size;
}

/** Number of elements of a shape, or of some of its axes. */
export const count = (shape: Shape): number => shape.reduce((product, size) => product * size, 1);

/** The integers from 0 to length - 1, such as all axes of a shape of that rank. */
export const range = (length: number): readonly number[] => Array.from({ length }, (_, index) => index);

/** A list that holds `value` at every position. */
export const repeated = (value: number, length: number): readonly number[] =>
  Array.from({ length }, () => value);
