import { type DType, decode, encode, type HostTensor, hostArrayOf, isFloat } from "@mp/graph";
import { count } from "./operand.js";

/**
 * The elements of a tensor as text. Writes their bytes as hexadecimal digits, because decimals would be rounded. If all
 * elements are equal, writes one element.
 */
export function literalText(value: HostTensor): string {
  const { dtype, shape, data } = value;
  if (count(shape) === 0) return "dense<>";
  const isUniform = uniformValue(value) !== undefined;
  if (dtype === "bool") return `dense<${boolsText(data as Uint8Array, isUniform ? [] : shape)}>`;
  return hexText(isUniform ? data.subarray(0, 1) : data);
}

/** The value that all elements have; undefined if they differ, or if there are none. */
export function uniformValue({ dtype, data }: HostTensor): number | bigint | undefined {
  const [first] = data;
  if (first === undefined || !(data as Float32Array).every((element) => Object.is(element, first)))
    return undefined;
  return isFloat(dtype) && dtype !== "f32" ? decode(dtype, Number(first)) : first;
}

/** The text of a tensor whose elements are all `value`. @param value is rounded to the dtype here */
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

/** Writes bools as `true` and `false`. MLIR packs bools into bits, so hexadecimal bytes cannot be used. */
function boolsText(data: Uint8Array, shape: readonly number[]): string {
  const [size, ...rest] = shape;
  if (size === undefined) return String(data[0] !== 0);
  const part = count(rest);
  const parts = Array.from({ length: size }, (_, at) =>
    boolsText(data.subarray(at * part, (at + 1) * part), rest),
  );
  return `[${parts.join(", ")}]`;
}
