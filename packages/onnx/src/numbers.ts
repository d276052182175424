import { type DType, decode, type HostTensor, isFloat, roundTo } from "@mp/graph";

/** The elements as numbers; 64-bit integers beyond 2^53 are rounded. */
export function toNumbers({ dtype, data }: HostTensor): number[] {
  if (!isFloat(dtype) || data instanceof Float32Array)
    return Array.from(data as ArrayLike<number | bigint>, Number);
  return Array.from(data as ArrayLike<number>, (bits) => decode(dtype, bits));
}

/** The only element as a number; undefined for any other count, or for an integer that f64 cannot hold. */
export function onlyNumber(tensor: HostTensor): number | undefined {
  const [element] = tensor.data;
  const [value] = tensor.data.length === 1 ? toNumbers(tensor) : [];
  return typeof element === "bigint" && value !== undefined && BigInt(value) !== element ? undefined : value;
}

/**
 * The number with the fewest digits that rounds to `value` in the dtype: 0.1 for the f32 nearest to 0.1. This is the
 * number before rounding, unless that number had more digits than the dtype can distinguish.
 */
export function shortest(value: number, dtype: DType): number {
  if (!isFloat(dtype) || !Number.isFinite(value)) return value;
  for (let digits = 1; digits < 17; digits++) {
    const candidate = Number(value.toPrecision(digits));
    if (Object.is(roundTo(dtype, candidate), value)) return candidate;
  }
  return value;
}
