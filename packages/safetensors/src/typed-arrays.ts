import type { SafetensorsDType } from "./dtypes.js";
import { SafetensorsError } from "./errors.js";
import { quote, refuse } from "./problem.js";
import type { SafetensorsTensor } from "./tensor.js";

/** The typed array that holds each dtype's elements; halves, eight-bit floats and packed dtypes are their bits. */
export interface ArrayOfDType {
  readonly U64: BigUint64Array;
  readonly I64: BigInt64Array;
  readonly F64: Float64Array;
  /** Real and imaginary parts in turn. */
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
  /** 0 and 1. */
  readonly BOOL: Uint8Array;
}

type ArrayClasses = {
  readonly [D in SafetensorsDType]: {
    readonly name: string;
    readonly BYTES_PER_ELEMENT: number;
    new (buffer: ArrayBufferLike, byteOffset: number, length: number): ArrayOfDType[D];
  };
};

const arrayClasses: ArrayClasses = {
  U64: BigUint64Array,
  I64: BigInt64Array,
  F64: Float64Array,
  C64: Float32Array,
  F32: Float32Array,
  U32: Uint32Array,
  I32: Int32Array,
  BF16: Uint16Array,
  F16: Uint16Array,
  U16: Uint16Array,
  I16: Int16Array,
  F8_E5M2FNUZ: Uint8Array,
  F8_E4M3FNUZ: Uint8Array,
  F8_E8M0: Uint8Array,
  F8_E4M3: Uint8Array,
  F8_E5M2: Uint8Array,
  I8: Int8Array,
  U8: Uint8Array,
  F6_E3M2: Uint8Array,
  F6_E2M3: Uint8Array,
  F4: Uint8Array,
  BOOL: Uint8Array,
};

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
 * The elements of a tensor that was read; with `dtype` their type is known, and checked. The array shares the tensor's
 * memory where that is aligned, as after `load` and `loadFile`; a tensor of `parse` may begin at any byte, and is copied
 * then.
 * @throws SAFETENSORS_INVALID_ARGUMENT for a tensor of another dtype, SAFETENSORS_UNSUPPORTED on a big-endian machine
 */
export function arrayOf<D extends SafetensorsDType = SafetensorsDType>(
  tensor: SafetensorsTensor,
  dtype?: D,
): ArrayOfDType[D] {
  requireLittleEndian();
  if (dtype !== undefined && dtype !== tensor.dtype) {
    throw new SafetensorsError(
      "SAFETENSORS_INVALID_ARGUMENT",
      `arrayOf: the tensor is ${tensor.dtype}, ${dtype} was asked for`,
    );
  }
  const ArrayClass = arrayClasses[tensor.dtype as D];
  const { BYTES_PER_ELEMENT: size } = ArrayClass;
  const isAligned = tensor.data.byteOffset % size === 0;
  // Not slice: of a Buffer it shares the memory, unaligned.
  const { buffer, byteOffset, byteLength } = isAligned ? tensor.data : new Uint8Array(tensor.data);
  return new ArrayClass(buffer, byteOffset, byteLength / size);
}

/** The class of a typed array of any realm, `DataView`, or undefined for what is no view. */
export function viewClassOf(data: unknown): string | undefined {
  if (!ArrayBuffer.isView(data)) return undefined;
  return Object.prototype.toString.call(data).slice("[object ".length, -1);
}

/** The class that stores that dtype. */
export const arrayClassNameOf = (dtype: SafetensorsDType): string => arrayClasses[dtype].name;

/** The memory of a view, shared. @throws SAFETENSORS_UNSUPPORTED on a big-endian machine */
export function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
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
