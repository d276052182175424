import { bitsPerElement, type SafetensorsDType } from "./dtypes.js";
import { SafetensorsError } from "./errors.js";
import { quote, refuse, refuseArgument } from "./problem.js";
import type { SafetensorsTensor } from "./tensor.js";

/** The typed array for each dtype. Elements of half dtypes, 8-bit floats and packed dtypes are bit patterns. */
export interface ArrayOfDType {
  readonly U64: BigUint64Array;
  readonly I64: BigInt64Array;
  readonly F64: Float64Array;
  /** Real and imaginary parts, alternating. */
  readonly C64: Float32Array;
  readonly F32: Float32Array;
  readonly U32: Uint32Array;
  readonly I32: Int32Array;
  readonly BF16: Uint16Array;
  readonly F16: Uint16Array;
  readonly U16: Uint16Array;
  readonly I16: Int16Array;
  readonly F8_E5M2FNUZ: Uint8Array;
  readonly F8_E4M3FNUZ: Uint8Array;
  readonly F8_E8M0: Uint8Array;
  readonly F8_E4M3: Uint8Array;
  readonly F8_E5M2: Uint8Array;
  readonly I8: Int8Array;
  readonly U8: Uint8Array;
  readonly F6_E3M2: Uint8Array;
  readonly F6_E2M3: Uint8Array;
  readonly F4: Uint8Array;
  /** Each byte is 0 or 1. */
  readonly BOOL: Uint8Array;
}

interface ArrayClass<A> {
  readonly name: string;
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): A;
}

/** Typed arrays by dtype. Dtypes that are not listed have `Uint16Array` if they have 16 bits, else `Uint8Array`. */
const numberClasses: { readonly [D in SafetensorsDType]?: ArrayClass<ArrayOfDType[D]> } = {
  U64: BigUint64Array,
  I64: BigInt64Array,
  F64: Float64Array,
  C64: Float32Array,
  F32: Float32Array,
  U32: Uint32Array,
  I32: Int32Array,
  I16: Int16Array,
  I8: Int8Array,
};

function arrayClass<D extends SafetensorsDType>(dtype: D): ArrayClass<ArrayOfDType[D]> {
  const bits = bitsPerElement[dtype] === 16 ? Uint16Array : Uint8Array;
  return numberClasses[dtype] ?? (bits as unknown as ArrayClass<ArrayOfDType[D]>);
}

const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** @throws SAFETENSORS_UNSUPPORTED on a big-endian machine */
function requireLittleEndian(): void {
  if (littleEndian) return;
  throw new SafetensorsError(
    "SAFETENSORS_UNSUPPORTED",
    "safetensors: files are little-endian, this machine is not",
  );
}

/**
 * Returns the elements of a tensor that was read. Pass `dtype` to check the tensor's dtype and to type the result. The
 * array shares the tensor's memory if that is aligned, as after `load` and `loadFile`; otherwise, as may happen after
 * `parse`, it is a copy.
 * @throws SAFETENSORS_INVALID_ARGUMENT for a tensor of another dtype, SAFETENSORS_UNSUPPORTED on a big-endian machine
 */
export function arrayOf<D extends SafetensorsDType = SafetensorsDType>(
  tensor: SafetensorsTensor,
  dtype?: D,
): ArrayOfDType[D] {
  requireLittleEndian();
  if (dtype !== undefined && dtype !== tensor.dtype)
    refuseArgument(`arrayOf: the tensor is ${tensor.dtype}, ${dtype} was asked for`);
  const ArrayClass = arrayClass(tensor.dtype as D);
  const { BYTES_PER_ELEMENT: size } = ArrayClass;
  const isAligned = tensor.data.byteOffset % size === 0;
  // Not slice: a Buffer's slice shares the unaligned memory.
  const { buffer, byteOffset, byteLength } = isAligned ? tensor.data : new Uint8Array(tensor.data);
  return new ArrayClass(buffer, byteOffset, byteLength / size);
}

/** The name of a view's class, even from another realm; undefined unless a typed array or `DataView`. */
export function viewClassName(data: unknown): string | undefined {
  if (!ArrayBuffer.isView(data)) return undefined;
  return Object.prototype.toString.call(data).slice("[object ".length, -1);
}

/** The name of the typed array for a dtype. */
export const arrayClassName = (dtype: SafetensorsDType): string => arrayClass(dtype).name;

/** Views the same memory as bytes. @throws SAFETENSORS_UNSUPPORTED on a big-endian machine */
export function viewBytes({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  requireLittleEndian();
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Index of the first byte that is neither 0 nor 1, or -1. */
export function findNonBool(bytes: Uint8Array): number {
  return bytes.findIndex((byte) => byte > 1);
}

/** @throws SAFETENSORS_PARSE for a BOOL element other than 0 and 1 */
export function checkBools(name: string, dtype: SafetensorsDType, bytes: Uint8Array): void {
  const index = dtype === "BOOL" ? findNonBool(bytes) : -1;
  if (index < 0) return;
  refuse("invalid-bool", `tensor ${quote(name)} is BOOL, yet element ${index} is ${bytes[index]}`, {
    tensor: name,
    index,
  });
}
