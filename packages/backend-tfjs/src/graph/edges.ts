/**
 * The wire format between JavaScript and TensorFlow. tfjs-node transfers f32, i32 and bool; every other dtype travels
 * as i32 with the same bits, that is, several elements in one i32, or one element in two. Nothing is converted, so
 * nothing is lost.
 */
import { bytesPerElement, type DType, elementCount, type Shape, type ValueType, zeros } from "@mp/graph";
import { int, type } from "./attributes.js";
import { type CarrierDType, carrierDType } from "./carrier.js";
import type { ScopeWriter } from "./scope-writer.js";
import type { Input } from "./term.js";

const CARRIER_BYTES = 4;

export interface WireType extends ValueType {
  readonly dtype: CarrierDType;
}

/** The wire format for tensors of a type. */
export function wireType({ dtype, shape }: ValueType): WireType {
  const carrier = carrierDType(dtype);
  if (carrier === dtype) return { dtype: carrier, shape };
  const parts = bytesPerElement[dtype] / CARRIER_BYTES;
  if (parts > 1) return { dtype: carrier, shape: [...shape, parts] };
  const byteLength = elementCount(shape, "edge") * bytesPerElement[dtype];
  return { dtype: carrier, shape: [Math.ceil(byteLength / CARRIER_BYTES)] };
}

/** Number of elements per i32 on the wire; 1/2 for 64-bit elements. */
const perCarrier = ({ dtype }: ValueType): number => CARRIER_BYTES / bytesPerElement[dtype];

/** Adds a placeholder in wire format and decodes its value. Tensors without elements are not transferred. */
export function receive(
  writer: ScopeWriter,
  value: ValueType,
): { readonly fed: string | undefined; readonly name: string } {
  const { dtype, shape } = value;
  const count = elementCount(shape, "edge");
  if (count === 0) return { fed: undefined, name: writer.constant(zeros(shape, dtype)).name };
  const wire = wireType(value);
  const fed = writer.placeholder(wire.dtype, wire.shape);
  if (wire.dtype === dtype) return { fed, name: fed };
  const bits = bitcast(writer, fed, "i32", dtype);
  const ratio = perCarrier(value);
  if (ratio < 1) return { fed, name: bits };
  const [carriers = 0] = wire.shape;
  if (count === carriers * ratio) return { fed, name: reshape(writer, bits, dtype, shape) };
  const all = reshape(writer, bits, dtype, [carriers * ratio]);
  const own = writer.one("Slice", [all, writer.ints([0]), writer.ints([count])], {
    T: type(dtype),
    Index: type("i32"),
  });
  return { fed, name: reshape(writer, own, dtype, shape) };
}

/** Encodes a value in wire format. @returns the result's name; undefined for a value without elements */
export function send(writer: ScopeWriter, name: string, value: ValueType): string | undefined {
  const { dtype, shape } = value;
  const count = elementCount(shape, "edge");
  if (count === 0) return undefined;
  const wire = wireType(value);
  if (wire.dtype === dtype) return name;
  const ratio = perCarrier(value);
  if (ratio < 1) return bitcast(writer, name, dtype, "i32");
  const [carriers = 0] = wire.shape;
  const missing = carriers * ratio - count;
  const whole =
    missing === 0
      ? name
      : writer.one(
          "ConcatV2",
          [
            reshape(writer, name, dtype, [count]),
            writer.constant(zeros([missing], dtype)),
            writer.scalar(0, "i32"),
          ],
          { T: type(dtype), Tidx: type("i32"), N: int(2) },
        );
  return bitcast(writer, reshape(writer, whole, dtype, [carriers, ratio]), dtype, "i32");
}

function bitcast(writer: ScopeWriter, name: string, from: DType, to: DType): string {
  return writer.one("Bitcast", [name], { T: type(from), type: type(to) });
}

/** Unlike `Term.reshape`, adds a Reshape even to the same shape, because the node marks the edge. */
function reshape(writer: ScopeWriter, name: Input, dtype: DType, shape: Shape): string {
  return writer.one("Reshape", [name, writer.ints(shape)], { T: type(dtype), Tshape: type("i32") });
}
