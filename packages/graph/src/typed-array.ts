// Identifies typed arrays by the JavaScript engine's internal slots, not by their constructor: another realm (a vm
// context, a frame, the sandbox of a test runner) has constructors of its own, and an object can claim any.
import { type DType, type HostArrays, hostArrayOf } from "./dtype.js";

const tag = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype) as object,
  Symbol.toStringTag,
)?.get;

/** The name of a typed array's built-in class, in any realm and for subclasses, too; undefined for other values. */
export function arrayClassOf(value: unknown): string | undefined {
  return tag?.call(value) as string | undefined;
}

/**
 * Returns data that is a direct instance of this realm's array class for the dtype; for a subclass or another realm,
 * a view of the same memory in that class. Undefined for data of a class that does not store the dtype.
 */
export function storageFor<D extends DType>(dtype: D, data: unknown): HostArrays[D] | undefined {
  const Own = hostArrayOf[dtype];
  if (arrayClassOf(data) !== Own.name) return undefined;
  const array = data as HostArrays[D];
  if (Object.getPrototypeOf(array) === Own.prototype) return array;
  return new Own(array.buffer, array.byteOffset, array.length);
}

/** The class of data for a message: its real class if it is a typed array, otherwise the class that it claims. */
export function classNameOf(data: unknown): string {
  return (
    arrayClassOf(data) ??
    (data as { constructor?: { name?: string } } | null | undefined)?.constructor?.name ??
    typeof data
  );
}
