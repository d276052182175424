import { quote, refuse } from "./problem.js";

/**
 * Bits per element of each dtype in the format (safetensors 0.8.0). The order is that in which the reference writer
 * sorts tensors: widest first, but BOOL last, so that each tensor starts at a multiple of its element's size.
 */
export const bitsPerElement = {
  U64: 64,
  I64: 64,
  F64: 64,
  C64: 64,
  F32: 32,
  U32: 32,
  I32: 32,
  BF16: 16,
  F16: 16,
  U16: 16,
  I16: 16,
  F8_E5M2FNUZ: 8,
  F8_E4M3FNUZ: 8,
  F8_E8M0: 8,
  F8_E4M3: 8,
  F8_E5M2: 8,
  I8: 8,
  U8: 8,
  F6_E3M2: 6,
  F6_E2M3: 6,
  F4: 4,
  BOOL: 8,
} as const;

/** A dtype by the format's name. `C64` is a pair of F32; F6 and F4 are packed, several elements per byte. */
export type SafetensorsDType = keyof typeof bitsPerElement;

/** All dtypes, in the order in which tensors are written. */
export const SAFETENSORS_DTYPES = Object.keys(bitsPerElement) as readonly SafetensorsDType[];

export const isDType = (name: unknown): name is SafetensorsDType =>
  typeof name === "string" && Object.hasOwn(bitsPerElement, name);

/** @throws SAFETENSORS_PARSE for a name that the format does not have */
export function expectDType(name: string, tensorName: string): SafetensorsDType {
  if (isDType(name)) return name;
  return refuse("unknown-dtype", `tensor ${quote(tensorName)} has the unknown dtype ${quote(name)}`, {
    tensor: tensorName,
    dtype: name,
  });
}

/**
 * The size of a tensor in bytes; a fraction if packed elements do not fill the last byte. Undefined if the
 * number of bits exceeds 2^53 - 1 after any dimension, even if a later one is 0.
 */
export function byteLength(shape: readonly number[], dtype: SafetensorsDType): number | undefined {
  let bits: number = bitsPerElement[dtype];
  for (const dimension of shape) {
    bits *= dimension;
    if (!Number.isSafeInteger(bits)) return undefined;
  }
  return bits / 8;
}
