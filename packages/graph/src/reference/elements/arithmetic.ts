// The arithmetic of the reference. A Float32Array rounds the numbers that are written to it to f32; a Float64Array
// keeps them. So each kernel is written once, keeps its intermediates in stores of `floats`, and rounds its result to
// its dtype with `round`. So an op on half dtypes computes in f32 and rounds once.
import { type DType, isFloat } from "../../dtype.js";
import { roundArray, roundTo } from "../../float-format/round.js";
import { type FloatStore, newStore, type Store } from "./store.js";

/** `exact`: results are rounded to their dtype. `f64`: floats of any dtype are doubles, and nothing is rounded. */
export type ArithmeticMode = "exact" | "f64";

export interface Arithmetic {
  readonly mode: ArithmeticMode;
  /** A zeroed store for intermediates or results, in the precision that ops compute in. */
  floats(length: number): FloatStore;
  /** A zeroed store for a tensor of the dtype. */
  allocate(dtype: DType, length: number): Store;
  /** Rounds a float result to its dtype in place, ties to even; does not change integers. */
  round<S extends Store>(dtype: DType, store: S): S;
  /** A float attribute as ops use it: rounded to f32, as in ONNX. */
  attribute(x: number): number;
  /** A number rounded to the dtype. */
  value(dtype: DType, x: number): number;
}

const exact: Arithmetic = {
  mode: "exact",
  floats: (length) => new Float32Array(length),
  allocate: (dtype, length) => newStore(dtype, length, Float32Array),
  round: (dtype, store) => {
    if (isFloat(dtype) && dtype !== "f32") roundArray(dtype, store as unknown as Float32Array);
    return store;
  },
  attribute: Math.fround,
  value: (dtype, x) => (isFloat(dtype) ? roundTo(dtype, x) : x),
};

const f64: Arithmetic = {
  mode: "f64",
  floats: (length) => new Float64Array(length),
  allocate: (dtype, length) => newStore(dtype, length, Float64Array),
  round: (_, store) => store,
  attribute: (x) => x,
  value: (_, x) => x,
};

export const arithmetics: Readonly<Record<ArithmeticMode, Arithmetic>> = { exact, f64 };
