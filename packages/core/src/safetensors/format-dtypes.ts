import type { DType } from "../dtype.js";
import { MpError } from "../errors.js";
import { quote, refuse } from "./problem.js";

/**
 * The format's names of our dtypes, in the order in which its reference writer sorts tensors (widest first, so
 * that every tensor of a padded header starts at a multiple of its element size).
 */
export const formatNames: Readonly<Record<DType, string>> = {
  u64: "U64",
  i64: "I64",
  f32: "F32",
  i32: "I32",
  bf16: "BF16",
  f16: "F16",
  f8e4m3: "F8_E4M3",
  f8e5m2: "F8_E5M2",
  u8: "U8",
  bool: "BOOL",
};

export const writingOrder: readonly DType[] = Object.keys(formatNames) as DType[];

const dtypeOfName: ReadonlyMap<string, DType> = new Map(
  writingOrder.map((dtype) => [formatNames[dtype], dtype]),
);

/** The rest of the format's dtypes (safetensors 0.8.0). */
const withoutCounterpart = new Set([
  "F64",
  "C64",
  "U32",
  "I16",
  "U16",
  "I8",
  "F8_E8M0",
  "F8_E4M3FNUZ",
  "F8_E5M2FNUZ",
  "F6_E2M3",
  "F6_E3M2",
  "F4",
]);

/**
 * @throws MP_UNSUPPORTED for a dtype of the format that this SDK has no type for
 * @throws MP_PARSE for anything else
 */
export function dtypeOfFormatName(formatName: string, tensorName: string): DType {
  const dtype = dtypeOfName.get(formatName);
  if (dtype !== undefined) return dtype;
  if (withoutCounterpart.has(formatName)) {
    throw new MpError(
      "MP_UNSUPPORTED",
      `safetensors: tensor ${quote(tensorName)} is ${formatName}, which has no counterpart here, ` +
        `convert it to one of ${[...dtypeOfName.keys()].join(", ")}`,
      { details: { problem: "unsupported-dtype", tensor: tensorName, dtype: formatName } },
    );
  }
  return refuse("unknown-dtype", `tensor ${quote(tensorName)} has the unknown dtype ${quote(formatName)}`, {
    tensor: tensorName,
    dtype: formatName,
  });
}
