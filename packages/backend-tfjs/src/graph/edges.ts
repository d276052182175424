/**
 * The wire format between JavaScript and TensorFlow. tfjs-node transfers f32, i32 and bool; every other dtype is
 * transferred as i32 of the same bits, with several elements in one i32 or one element in two. Nothing is converted, so
 * nothing is lost.
 */
import { zeros } from "@mp/core";
import { bytesPerElement, elementCount, type ValueType } from "@mp/core/graph";
import { type CarriedDType, carrierOf } from "./dtype.js";
import type { ScopeWriter } from "./scope-writer.js";
import { int, type } from "./tf-writer.js";

const CARRIER_BYTES = 4;

export interface Wire {
  readonly dtype: CarriedDType;
  readonly shape: readonly number[];
}

/** The wire format of a tensor of that type. */
export function wireOf({ dtype, shape }: ValueType): Wire {
  const carrier = carrierOf(dtype);
  if (carrier === dtype) return { dtype: carrier, shape };
  return { dtype: carrier, shape: [Math.ceil((sizeOf(shape) * bytesPerElement[dtype]) / CARRIER_BYTES)] };
}

/** Number of elements that one i32 on the wire holds; less than one where an element takes two. */
const perCarrier = ({ dtype }: ValueType): number => CARRIER_BYTES / bytesPerElement[dtype];

const sizeOf = (shape: readonly number[]): number => elementCount(shape, "edge");

/**
 * A placeholder in wire format, and the value of that type decoded from it. Tensors without elements are not
 * transferred.
 */
export function receive(
  writer: ScopeWriter,
  value: ValueType,
): { readonly fed: string | undefined; readonly name: string } {
  if (sizeOf(value.shape) === 0)
    return { fed: undefined, name: writer.constant(zeros(value.shape, value.dtype)) };
  const wire = wireOf(value);
  const ratio = perCarrier(value);
  const { dtype } = value;
  if (wire.dtype === dtype) {
    const fed = writer.placeholder(dtype, value.shape);
    return { fed, name: fed };
  }
  const fed = writer.placeholder(wire.dtype, wire.shape);
  const [carriers = 0] = wire.shape;
  if (dtype === "i32" || ratio < 1) {
    const pairs = reshape(writer, fed, "i32", [carriers * ratio, 1 / ratio]);
    return { fed, name: reshape(writer, bitcast(writer, pairs, "i32", dtype), dtype, value.shape) };
  }
  const all = reshape(writer, bitcast(writer, fed, "i32", dtype), dtype, [carriers * ratio]);
  const count = sizeOf(value.shape);
  const own =
    count === carriers * ratio
      ? all
      : writer.one("Slice", [all, writer.ints([0]), writer.ints([count])], {
          T: type(dtype),
          Index: type("i32"),
        });
  return { fed, name: reshape(writer, own, dtype, value.shape) };
}

/** The name of a value in wire format; undefined for one without elements. */
export function send(writer: ScopeWriter, name: string, value: ValueType): string | undefined {
  const { dtype, shape } = value;
  const count = sizeOf(shape);
  if (count === 0) return undefined;
  const wire = wireOf(value);
  if (wire.dtype === dtype) return name;
  const ratio = perCarrier(value);
  const [carriers = 0] = wire.shape;
  if (ratio < 1) return reshape(writer, bitcast(writer, name, dtype, "i32"), "i32", wire.shape);
  const flat = reshape(writer, name, dtype, [count]);
  const missing = carriers * ratio - count;
  const whole =
    missing === 0
      ? flat
      : writer.one("ConcatV2", [flat, writer.constant(zeros([missing], dtype)), writer.scalar(0, "i32")], {
          T: type(dtype),
          Tidx: type("i32"),
          N: int(2),
        });
  return bitcast(writer, reshape(writer, whole, dtype, [carriers, ratio]), dtype, "i32");
}

function bitcast(
  writer: ScopeWriter,
  name: string,
  from: ValueType["dtype"],
  to: ValueType["dtype"],
): string {
  return writer.one("Bitcast", [name], { T: type(from), type: type(to) });
}

function reshape(
  writer: ScopeWriter,
  name: string,
  dtype: ValueType["dtype"],
  shape: readonly number[],
): string {
  return writer.one("Reshape", [name, writer.ints(shape)], { T: type(dtype), Tshape: type("i32") });
}
