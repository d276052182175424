import { type DType, isFloat } from "../../dtype.js";
import type { Arithmetic } from "../elements/arithmetic.js";
import { outputType, type ReferenceKernel } from "../elements/kernel.js";
import {
  type BigStore,
  type FloatStore,
  isBig,
  type NumberStore,
  operand,
  type Store,
} from "../elements/store.js";

/**
 * Float to float rounds once, ties to even, overflow to infinity (to NaN in f8e4m3, which has no infinity). Integer
 * to float rounds once from the integer. Integer to integer keeps the low bits. Float to integer truncates toward
 * zero. A cast to bool is true for every value but zero, so for NaN, too. A cast of NaN or of a float outside the
 * integer's range is unspecified: here it gives the smallest i32 or i64, as on x64, and for u8 and u64 the low bits
 * of that integer; no test depends on it.
 */
export const castKernel: ReferenceKernel<"Cast"> = (inputs, { to }, outputs, arithmetic) => {
  const x = operand(inputs, 0);
  if (x.dtype === to) return [x.data];
  const out = arithmetic.allocate(outputType(outputs).dtype, x.data.length);
  if (isBig(x.data)) fromBig(x.data, to, out, arithmetic);
  else if (isBig(out)) toBig(x.data, isFloat(x.dtype), out);
  else fromNumber(x.data, x.dtype, to, out, arithmetic);
  return [out];
};

function fromNumber(
  from: NumberStore,
  dtype: DType,
  to: DType,
  out: NumberStore,
  { value, round }: Arithmetic,
): void {
  if (to === "bool") {
    for (let i = 0; i < out.length; i++) out[i] = from[i] === 0 ? 0 : 1;
  } else if (isFloat(to) && isFloat(dtype)) {
    out.set(from);
    round(to, out as FloatStore);
  } else if (isFloat(to)) {
    for (let i = 0; i < out.length; i++) out[i] = value(to, from[i] as number);
  } else if (isFloat(dtype)) {
    for (let i = 0; i < out.length; i++) out[i] = truncate(from[i] as number);
  } else {
    // Between i32, u8 and bool: writing to the store keeps the low bits.
    out.set(from);
  }
}

const MIN_I32 = -(2 ** 31);
const MIN_I64 = -(2n ** 63n);

function truncate(x: number): number {
  return x > MIN_I32 - 1 && x < 2 ** 31 ? Math.trunc(x) : MIN_I32;
}

function toBig(from: NumberStore, fromFloat: boolean, out: BigStore): void {
  for (let i = 0; i < out.length; i++) {
    const x = from[i] as number;
    const inRange = !fromFloat || (x >= -(2 ** 63) && x < 2 ** 64);
    out[i] = inRange ? BigInt(Math.trunc(x)) : MIN_I64;
  }
}

function fromBig(from: BigStore, to: DType, out: Store, { value }: Arithmetic): void {
  if (isBig(out)) {
    for (let i = 0; i < out.length; i++) out[i] = from[i] as bigint;
  } else if (to === "bool") {
    for (let i = 0; i < out.length; i++) out[i] = from[i] === 0n ? 0 : 1;
  } else if (isFloat(to)) {
    for (let i = 0; i < out.length; i++) out[i] = value(to, toNumber(from[i] as bigint));
  } else {
    for (let i = 0; i < out.length; i++) out[i] = Number(BigInt.asIntN(32, from[i] as bigint));
  }
}

/**
 * A double that rounds to any narrower format as the integer itself does: bits beyond 53 become one sticky bit, so
 * that the second rounding does not see a false tie.
 */
function toNumber(x: bigint): number {
  const near = Number(x);
  if (Math.abs(near) < 2 ** 53) return near;
  const dropped = (x & 0xfffn) === 0n ? 0n : 1n;
  return Number((x >> 12n) | dropped) * 2 ** 12;
}
