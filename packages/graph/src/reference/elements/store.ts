import type { DType } from "../../dtype.js";
import type { KernelTensor } from "../../kernel-backend/kernel.js";

export type FloatStore = Float32Array | Float64Array;
export type NumberStore = FloatStore | Int32Array | Uint8Array;
export type BigStore = BigInt64Array | BigUint64Array;

/**
 * The reference's storage of a tensor. With exact arithmetic, floats of every dtype are in a `Float32Array`, rounded
 * to their dtype; with f64 arithmetic they are in a `Float64Array`, unrounded. Bools are 0 or 1.
 */
export type Store = NumberStore | BigStore;

export type Operand = KernelTensor<Store>;

/** The operand at an index; type inference has checked that it exists. */
export function operand(inputs: readonly Operand[], index: number): Operand {
  const input = inputs[index];
  if (input === undefined) throw new Error(`internal: operand ${index} is missing`);
  return input;
}

export function isBig(store: Store): store is BigStore {
  return store instanceof BigInt64Array || store instanceof BigUint64Array;
}

/** The data of an operand that type inference has limited to floats. */
export function readFloats(input: Operand): FloatStore {
  return input.data as FloatStore;
}

/** The data of an operand that type inference has limited to i32 indices. */
export function readIndices(input: Operand): Int32Array {
  return input.data as Int32Array;
}

/**
 * The same store under a type that allows moving elements of any dtype. Only for code that moves, adds or multiplies
 * elements of stores of one dtype.
 */
export function readElements(store: Store): Float64Array {
  return store as Float64Array;
}

/** A new store with the elements from `start` to `end`. */
export function copyStore(store: Store, start = 0, end: number = store.length): Store {
  return store.slice(start, end);
}

const integerStores: Readonly<Partial<Record<DType, new (length: number) => Store>>> = {
  i32: Int32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  u8: Uint8Array,
  bool: Uint8Array,
};

/** A zeroed store for a dtype; `Float` is the array class for floats. */
export function newStore(dtype: DType, length: number, Float: new (length: number) => FloatStore): Store {
  return new (integerStores[dtype] ?? Float)(length);
}
