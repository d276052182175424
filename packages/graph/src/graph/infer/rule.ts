import type { DType } from "../../dtype.js";
import { dtypeMismatch, invalid, type MpError, shapeMismatch } from "../../errors.js";
import { formatShape, type Shape, sameShape } from "../../shape.js";
import type { Op, OpAttributes } from "../attributes.js";
import type { ValueType } from "../graph.js";
import { opDTypes } from "../op-dtypes.js";

export type InferRule<K extends Op> = (
  inputs: readonly ValueType[],
  attributes: OpAttributes[K],
) => readonly ValueType[];
export type InferTable<O extends Op> = { readonly [K in O]: InferRule<K> };

/** The first operand. @throws MP_INVALID_ARGUMENT when it is missing */
export function firstOperand(op: Op, inputs: readonly ValueType[]): ValueType {
  const first = inputs[0];
  if (first === undefined) throw argumentError(op, "operand 0 is missing, got 0");
  return first;
}

/** @throws MP_INVALID_ARGUMENT for a number of operands outside min … max */
export function expectCount(op: Op, inputs: readonly ValueType[], min: number, max: number = min): void {
  if (inputs.length < min || inputs.length > max) {
    const wanted = min === max ? `${min}` : `${min} to ${max}`;
    throw argumentError(op, `takes ${wanted} operands, got ${inputs.length}`);
  }
}

type Operands = {
  readonly 1: readonly [ValueType];
  readonly 2: readonly [ValueType, ValueType];
  readonly 3: readonly [ValueType, ValueType, ValueType];
  readonly 4: readonly [ValueType, ValueType, ValueType, ValueType];
  readonly 5: readonly [ValueType, ValueType, ValueType, ValueType, ValueType];
};

/** The operands, typed by `min`. @throws MP_INVALID_ARGUMENT for a number of operands outside min … max */
export function operands<N extends keyof Operands>(
  op: Op,
  inputs: readonly ValueType[],
  min: N,
  max: number = min,
): Operands[N] {
  expectCount(op, inputs, min, max);
  return inputs as Operands[N];
}

/** @throws MP_DTYPE_MISMATCH for a dtype outside the list; the default list holds the dtypes that the op supports */
export function expectDType(
  op: Op,
  type: ValueType,
  allowed: readonly DType[] = opDTypes[op],
  what = "operand",
): void {
  if (!allowed.includes(type.dtype)) {
    throw dtypeMismatch(`${op}: ${what} is ${type.dtype}, takes ${allowed.join(", ")}; cast it first`, {
      details: { dtypes: [type.dtype] },
    });
  }
}

/** @throws MP_DTYPE_MISMATCH if the dtypes of operands differ */
export function expectSameDType(op: Op, inputs: readonly ValueType[]): void {
  const first = firstOperand(op, inputs).dtype;
  for (const input of inputs) {
    if (input.dtype !== first) {
      throw dtypeMismatch(`${op}: operands are ${first} and ${input.dtype}; cast one of them`, {
        details: { dtypes: [first, input.dtype] },
      });
    }
  }
}

/** @throws MP_SHAPE_MISMATCH */
export function expectShape(op: Op, got: Shape, want: Shape, what: string): void {
  if (!sameShape(got, want)) {
    throw shapeMismatch(`${op}: ${what} has shape ${formatShape(got)}, needs ${formatShape(want)}`);
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
  return shapeMismatch(`${op}: ${message}`);
}

export function argumentError(op: Op, message: string): MpError<"MP_INVALID_ARGUMENT"> {
  return invalid(`${op}: ${message}`);
}
