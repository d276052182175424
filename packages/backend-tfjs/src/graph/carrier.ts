import type { DType } from "@mp/graph";

/**
 * The dtypes that tfjs-node can transfer between JavaScript and TensorFlow; all others travel as i32 with the same
 * bits.
 */
export type CarrierDType = "f32" | "i32" | "bool";

export function carrierDType(dtype: DType): CarrierDType {
  return dtype === "f32" || dtype === "bool" ? dtype : "i32";
}
