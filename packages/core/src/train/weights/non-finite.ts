import { decode, type FloatDType, floatFormats, type HostTensor, isFloat } from "@mp/graph";

/** A problem such as `master/out is NaN at element 3`; undefined if the tensor is finite or not a float. */
export function nonFiniteProblem(
  name: string,
  tensor: HostTensor,
  allowsInfinity = false,
): string | undefined {
  const { dtype, data } = tensor;
  if (!isFloat(dtype)) return undefined;
  const bits = dtype === "f32" ? new Uint32Array(data.buffer, data.byteOffset, data.length) : data;
  const mask = nonFiniteMask(dtype);
  for (let index = 0; index < bits.length; index++) {
    if (((bits[index] as number) & mask) !== mask) continue;
    const value = decode(dtype, bits[index] as number);
    if (allowsInfinity && !Number.isNaN(value)) continue;
    return describeElement(name, value, tensor, index);
  }
  return undefined;
}

/** Text such as `master/out is NaN at element 3`, or `applied is -1` for a tensor of one element. */
export const describeElement = (name: string, value: number, { data }: HostTensor, index: number): string =>
  `${name} is ${value}${data.length === 1 ? "" : ` at element ${index}`}`;

/** The bits that are all set in infinities and NaN, and in no other number. */
function nonFiniteMask(dtype: FloatDType): number {
  const { bits, fractionBits, hasInfinity } = floatFormats[dtype];
  const magnitude = 2 ** (bits - 1) - 1;
  return hasInfinity ? magnitude - (2 ** fractionBits - 1) : magnitude;
}
