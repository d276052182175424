import type { DType } from "../../dtype.js";
import { MpError } from "../../errors.js";
import { formatShape, type Shape, sameShape } from "../../shape.js";
import type { Op, OpAttributes } from "../attributes.js";
import type { ValueType } from "../graph.js";
import { opDTypes } from "../op-dtypes.js";

export type InferRule<K extends Op> = (
  inputs: readonly ValueType[],
  attributes: OpAttributes[K],
) => readonly ValueType[];
export type InferTable<O extends Op> = { readonly [K in O]: InferRule<K> };

/** The operand at an index. @throws MP_INVALID_ARGUMENT when it is missing */
export function operand(op: Op, inputs: readonly ValueType[], index: number): ValueType {
  const input = inputs[index];
  if (input === undefined) {
    throw new MpError("MP_INVALID_ARGUMENT", `${op}: operand ${index} is missing, got ${inputs.length}`);
  }
  return input;
}

/** @throws MP_INVALID_ARGUMENT for a number of operands outside min … max */
export function expectCount(op: Op, inputs: readonly ValueType[], min: number, max: number = min): void {
  if (inputs.length < min || inputs.length > max) {
    const wanted = min === max ? `${min}` : `${min} to ${max}`;
    throw new MpError("MP_INVALID_ARGUMENT", `${op}: takes ${wanted} operands, got ${inputs.length}`);
  }
}

/** @throws MP_DTYPE_MISMATCH for a dtype outside the list; the default list holds the dtypes that the op supports */
export function expectDType(
  op: Op,
  type: ValueType,
  allowed: readonly DType[] = opDTypes[op],
  what = "operand",
): void {
  if (!allowed.includes(type.dtype)) {
    throw new MpError(
      "MP_DTYPE_MISMATCH",
      `${op}: ${what} is ${type.dtype}, takes ${allowed.join(", ")}; cast it first`,
      { details: { dtypes: [type.dtype] } },
    );
  }
}

/** @throws MP_DTYPE_MISMATCH when operands differ */
export function expectSameDType(op: Op, inputs: readonly ValueType[]): void {
  const first = operand(op, inputs, 0).dtype;
  for (const input of inputs) {
    if (input.dtype !== first) {
      throw new MpError(
        "MP_DTYPE_MISMATCH",
        `${op}: operands are ${first} and ${input.dtype}; cast one of them`,
        { details: { dtypes: [first, input.dtype] } },
      );
    }
  }
}

/** @throws MP_SHAPE_MISMATCH */
export function expectShape(op: Op, got: Shape, want: Shape, what: string): void {
  if (!sameShape(got, want)) {
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `${op}: ${what} has shape ${formatShape(got)}, needs ${formatShape(want)}`,
    );
  }
}

/** @throws MP_INVALID_ARGUMENT for a list of the wrong length or with a number below `least` */
export function expectIntegers(
  op: Op,
  name: string,
  list: readonly number[],
  length: number,
  least: number,
): void {
  if (list.length === length && list.every((number) => number >= least)) return;
  throw argumentError(op, `${name} must be ${length} integers ≥ ${least}, got ${formatShape(list)}`);
}

export function shapeError(op: Op, message: string): MpError<"MP_SHAPE_MISMATCH"> {
  return new MpError("MP_SHAPE_MISMATCH", `${op}: ${message}`);
}

export function argumentError(op: Op, message: string): MpError<"MP_INVALID_ARGUMENT"> {
  return new MpError("MP_INVALID_ARGUMENT", `${op}: ${message}`);
}
