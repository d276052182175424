import { type DType, decode, encode, type HostTensor, hostArrayOf, isFloat } from "@mp/graph";
import { count } from "./operand.js";

/**
 * The text of the elements of a tensor: their bytes as hexadecimal digits, since decimals round. Equal elements are
 * written once.
 */
export function literalText(value: HostTensor): string {
  const { dtype, shape, data } = value;
  if (count(shape) === 0) return "dense<>";
  const isUniform = uniformValue(value) !== undefined;
  if (dtype === "bool") return `dense<${boolsText(data as Uint8Array, isUniform ? [] : shape)}>`;
  return hexText(isUniform ? data.subarray(0, 1) : data);
}

/** The number that all elements are; undefined if they differ, or if there are none. */
export function uniformValue({ dtype, data }: HostTensor): number | bigint | undefined {
  const [first] = data;
  if (first === undefined || !(data as Float32Array).every((element) => Object.is(element, first)))
    return undefined;
  return isFloat(dtype) && dtype !== "f32" ? decode(dtype, Number(first)) : first;
}

/** The text of one element, which stands for all elements of a tensor. @param value rounded to the dtype here */
export function splatText(dtype: DType, value: number | bigint): string {
  if (dtype === "bool") return `dense<${Boolean(value)}>`;
  if (dtype === "i64" || dtype === "u64") return hexText(new hostArrayOf[dtype](1).fill(BigInt(value)));
  const number = Number(value);
  const stored = isFloat(dtype) && dtype !== "f32" ? encode(dtype, number) : number;
  return hexText(new hostArrayOf[dtype](1).fill(stored));
}

const hexText = ({ buffer, byteOffset, byteLength }: ArrayBufferView): string =>
  `dense<"0x${Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)
    .toString("hex")
    .toUpperCase()}">`;

/** Bools have no bytes in MLIR, which packs them into bits. */
function boolsText(data: Uint8Array, shape: readonly number[]): string {
  const [size, ...rest] = shape;
  if (size === undefined) return String(data[0] !== 0);
  const part = count(rest);
  const parts = Array.from({ length: size }, (_, at) =>
    boolsText(data.subarray(at * part, (at + 1) * part), rest),
  );
  return `[${parts.join(", ")}]`;
}
