// Typed arrays by what the JavaScript engine keeps inside them and not by their constructor: another realm (a vm
// context, a frame, the sandbox of a test runner) has constructors of its own, and an object can claim any.
import { type DType, type HostArrays, hostArrayOf } from "./dtype.js";

const tag = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype) as object,
  Symbol.toStringTag,
)?.get;

/** `Float32Array` for one of any realm and of any subclass; undefined for what is no typed array. */
export function arrayClassOf(value: unknown): string | undefined {
  return tag?.call(value) as string | undefined;
}

/**
 * The data as an array of this realm's own class for that dtype, over the same memory; itself where it is one.
 * Undefined for what does not store that dtype.
 */
export function storageFor<D extends DType>(dtype: D, data: unknown): HostArrays[D] | undefined {
  const Own = hostArrayOf[dtype];
  if (arrayClassOf(data) !== Own.name) return undefined;
  const array = data as HostArrays[D];
  if (Object.getPrototypeOf(array) === Own.prototype) return array;
  return new Own(array.buffer, array.byteOffset, array.length);
}

/** How data reads in a message: the class that it is by its content, or what it calls itself. */
export function classNameOf(data: unknown): string {
  return (
    arrayClassOf(data) ??
    (data as { constructor?: { name?: string } } | null | undefined)?.constructor?.name ??
    typeof data
  );
}
