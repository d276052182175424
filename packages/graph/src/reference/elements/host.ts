import { type FloatDType, isFloat } from "../../dtype.js";
import { decodeArray, encodeArray } from "../../float-format/bits.js";
import type { ValueType } from "../../graph/graph.js";
import type { HostTensor } from "../../host/host-tensor.js";
import type { Arithmetic } from "./arithmetic.js";
import { copyStore, type FloatStore, type Store } from "./store.js";

/** Copies host data into a new store. Any byte of a bool but 0 is true. */
export function fromHost(tensor: HostTensor, arithmetic: Arithmetic): Store {
  if (isFloat(tensor.dtype)) {
    const values = decodeArray(tensor.dtype, tensor.data as Float32Array);
    if (arithmetic.mode === "exact") return values;
    return new Float64Array(values);
  }
  const copy = copyStore(tensor.data as Exclude<HostTensor["data"], Uint16Array>);
  if (tensor.dtype === "bool") {
    for (let i = 0; i < copy.length; i++) copy[i] = copy[i] === 0 ? 0 : 1;
  }
  return copy;
}

/** Copies a store into the host's array for the dtype. Unrounded numbers (f64 arithmetic) are rounded here. */
export function toHost(store: Store, { dtype, shape }: ValueType): HostTensor {
  const data = isFloat(dtype) ? encodeArray<FloatDType>(dtype, store as FloatStore) : copyStore(store);
  return Object.freeze({ dtype, shape: Object.freeze([...shape]), data }) as HostTensor;
}
