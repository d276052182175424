import { bytesPerElement, DTYPES, type DType, type HostArrays, hostArrayOf, isFloat } from "../dtype.js";
import { dtypeMismatch, MpError, shapeMismatch } from "../errors.js";
import { encode } from "../float-format/bits.js";
import { elementCount, formatShape, type Shape } from "../shape.js";
import { shown } from "../shown.js";
import { arrayClassOf, classNameOf, storageFor } from "../typed-array.js";
import { isLiteralInRange } from "./literal.js";

/** Dense row-major data on the host. f16 and bf16 are bits in a `Uint16Array`, i64 is a `BigInt64Array`. */
export type HostTensor<D extends DType = DType> = {
  readonly [K in D]: { readonly dtype: K; readonly shape: Shape; readonly data: HostArrays[K] };
}[D];

type Numeric = Float32Array | Int32Array | Uint8Array | BigInt64Array;
type DTypeOfArray<A> = A extends Float32Array
  ? "f32"
  : A extends Int32Array
    ? "i32"
    : A extends BigInt64Array
      ? "i64"
      : A extends Uint8Array
        ? "u8"
        : never;

const dtypeOfClass = new Map<string | undefined, DType>([
  ["Float32Array", "f32"],
  ["Int32Array", "i32"],
  ["BigInt64Array", "i64"],
  ["Uint8Array", "u8"],
]);

/**
 * Wraps a typed array as a tensor without copying it. The default dtype follows the array's class, but a
 * `Uint16Array` needs a dtype, since f16 and bf16 share it. An array of another realm or of a subclass (such as
 * `Buffer`) is accepted: `data` is then a view of the same memory with the base class.
 * @throws MP_SHAPE_MISMATCH when the shape's element count differs from the array's length
 * @throws MP_DTYPE_MISMATCH when the array's class does not store that dtype
 */
export function tensor<A extends Numeric>(data: A, shape?: Shape): HostTensor<DTypeOfArray<A>>;
export function tensor<D extends DType>(data: HostArrays[D], shape: Shape, dtype: D): HostTensor<D>;
export function tensor(data: HostArrays[DType], shape?: Shape, dtype?: DType): HostTensor {
  const kind = dtype ?? dtypeOfClass.get(arrayClassOf(data));
  if (Array.isArray(data)) {
    throw dtypeMismatch(
      "tensor: takes a typed array, got an array; wrap it: Float32Array.from(numbers), or Int32Array.from(indices)",
    );
  }
  if (kind === undefined || !DTYPES.includes(kind)) {
    throw dtypeMismatch(
      `tensor: ${classNameOf(data)} has no dtype of its own, pass one of ${DTYPES.join(", ")}`,
    );
  }
  const storage = storageFor(kind, data);
  if (storage === undefined) {
    throw dtypeMismatch(
      `tensor: ${kind} must be stored in ${hostArrayOf[kind].name}, got ${classNameOf(data)}`,
    );
  }
  if (shape !== undefined) expectShape("tensor", shape);
  const dimensions = Object.freeze([...(shape ?? [storage.length])]);
  const size = elementCount(dimensions, "tensor");
  if (size !== storage.length) {
    throw shapeMismatch(
      `tensor: shape ${formatShape(dimensions)} holds ${size} elements, got ${storage.length}`,
    );
  }
  return Object.freeze({ dtype: kind, shape: dimensions, data: storage }) as HostTensor;
}

/** Whether a value looks like a host tensor: a known dtype, a shape, and a typed array that may be of any class. */
export function isHostTensor(value: unknown): value is HostTensor {
  if (typeof value !== "object" || value === null) return false;
  const candidate = value as { dtype?: unknown; shape?: unknown; data?: unknown };
  return (
    typeof candidate.dtype === "string" &&
    (DTYPES as readonly string[]).includes(candidate.dtype) &&
    Array.isArray(candidate.shape) &&
    ArrayBuffer.isView(candidate.data)
  );
}

/** Zeros (+0, false) of any dtype; default f32. */
export function zeros<D extends DType>(shape: Shape, dtype: D): HostTensor<D>;
export function zeros(shape: Shape): HostTensor<"f32">;
export function zeros(shape: Shape, dtype: DType = "f32"): HostTensor {
  expectShape("zeros", shape);
  expectDType("zeros", dtype);
  const size = elementCount(shape, "zeros");
  return Object.freeze({
    dtype,
    shape: Object.freeze([...shape]),
    data: new hostArrayOf[dtype](size),
  }) as HostTensor;
}

/**
 * A tensor filled with a number, rounded once to the dtype; default f32.
 * @throws MP_OUT_OF_RANGE for a number that the dtype cannot represent: a finite number that would become infinite, or
 * a fraction in an integer dtype
 * @throws MP_SHAPE_MISMATCH for dimensions that are not non-negative integers
 */
export function full<D extends DType>(shape: Shape, value: number, dtype: D): HostTensor<D>;
export function full(shape: Shape, value: number): HostTensor<"f32">;
export function full(shape: Shape, value: number, dtype: DType = "f32"): HostTensor {
  expectShape("full", shape);
  expectDType("full", dtype);
  if (typeof value !== "number" || !isLiteralInRange(value, dtype)) {
    throw new MpError("MP_OUT_OF_RANGE", `full: ${shown(value)} is no value of ${dtype}`);
  }
  const data = new hostArrayOf[dtype](elementCount(shape, "full"));
  // Both sides have the same array class, which the union type hides.
  (data as Float32Array).fill((literalTensor(value, dtype).data as Float32Array)[0] as number);
  return Object.freeze({ dtype, shape: Object.freeze([...shape]), data }) as HostTensor;
}

/** Ones (true) of any dtype; default f32. @throws MP_SHAPE_MISMATCH as `full` */
export function ones<D extends DType>(shape: Shape, dtype: D): HostTensor<D>;
export function ones(shape: Shape): HostTensor<"f32">;
export function ones(shape: Shape, dtype: DType = "f32"): HostTensor {
  return full(shape, 1, dtype);
}

/** @throws MP_SHAPE_MISMATCH unless the shape is one array: `zeros([2, 3])`, not `zeros(2, 3)` */
function expectShape(what: string, shape: unknown): asserts shape is Shape {
  if (Array.isArray(shape)) return;
  throw shapeMismatch(`${what}: a shape must be an array such as [2, 3], got ${shown(shape)}`);
}

function expectDType(what: string, dtype: unknown): void {
  if ((DTYPES as readonly unknown[]).includes(dtype)) return;
  throw dtypeMismatch(`${what}: a dtype must be one of ${DTYPES.join(", ")}, got ${shown(dtype)}`);
}

/** Number of bytes of a tensor. */
export function byteLength(type: { readonly dtype: DType; readonly shape: Shape }): number {
  return elementCount(type.shape, "byteLength") * bytesPerElement[type.dtype];
}

/** Number of bytes of all tensors together. */
export const totalBytes = (types: readonly Parameters<typeof byteLength>[0][]): number =>
  types.reduce((sum, type) => sum + byteLength(type), 0);

/** A number as a scalar tensor, rounded once from f64. */
export function literalTensor(number: number, dtype: DType): HostTensor {
  const data = new hostArrayOf[dtype](1);
  if (data instanceof Float32Array) data[0] = number;
  else if (data instanceof BigInt64Array || data instanceof BigUint64Array) data[0] = BigInt(number);
  else data[0] = isFloat(dtype) ? encode(dtype, number) : number;
  return Object.freeze({ dtype, shape: Object.freeze([]), data }) as unknown as HostTensor;
}
