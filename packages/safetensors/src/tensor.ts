import type { SafetensorsDType } from "./dtypes.js";

/** A tensor to be written. */
export interface WritableTensor {
  readonly dtype: SafetensorsDType;
  /** Outermost dimension first; `[]` is a scalar. */
  readonly shape: readonly number[];
  /** The elements, row-major: the dtype's typed array (see `ArrayOfDType`), or their little-endian bytes. */
  readonly data: ArrayBufferView;
}

/** A tensor that was read. */
export interface SafetensorsTensor extends WritableTensor {
  /** Little-endian bytes; `arrayOf` converts them to elements. */
  readonly data: Uint8Array;
}

/** The contents of a file. The records have no prototype, so that a tensor can be named `__proto__`. */
export interface LoadedTensors {
  readonly tensors: Readonly<Record<string, SafetensorsTensor>>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Makes a record without a prototype. */
export function toRecord<V>(entries: Iterable<readonly [string, V]>): Readonly<Record<string, V>> {
  const record: Record<string, V> = Object.create(null);
  for (const [key, value] of entries) record[key] = value;
  return record;
}
