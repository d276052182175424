import type { DType } from "@mp/graph";

/** The number of each dtype in the C interface, ov_element_type_e. */
export const ELEMENT_TYPE: Readonly<Record<DType, number>> = {
  bool: 1,
  bf16: 2,
  f16: 3,
  f32: 4,
  i32: 9,
  i64: 10,
  u8: 16,
  u64: 19,
  f8e4m3: 21,
  f8e5m2: 22,
};
