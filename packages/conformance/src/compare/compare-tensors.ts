import {
  decode,
  type FloatDType,
  floatFormats,
  formatType,
  type HostTensor,
  isFloat,
  sameShape,
  ulpDistance,
} from "@mp/graph";
import { sameBytes } from "@mp/graph/internal";
import type { Allowance } from "./allowance.js";

/** A description of the first wrong element, or of another fault of a tensor. */
export type Mismatch = string;

/** Describes how `got` is wrong; undefined if it is right. Non-finite values must agree whatever the allowance. */
export function compareTensors(
  got: HostTensor | undefined,
  want: HostTensor,
  allowance: Allowance,
): Mismatch | undefined {
  if (got === undefined) return "is missing";
  if (got.dtype !== want.dtype || !sameShape(got.shape, want.shape)) {
    return `is ${formatType(got)}, want ${formatType(want)}`;
  }
  if (got.data.constructor !== want.data.constructor || got.data.length !== want.data.length) {
    return `holds a ${got.data.constructor.name} of ${got.data.length}, want a ${want.data.constructor.name} of ${want.data.length}`;
  }
  if (sameBytes(got.data, want.data)) return undefined;
  const { dtype } = want;
  const compare = isFloat(dtype) ? floatCheck(dtype, allowance) : integerCheck;
  for (let at = 0; at < want.data.length; at++) {
    const problem = compare(got.data[at] as number, want.data[at] as number);
    if (problem !== undefined) return `at ${place(at, want.shape)} ${problem}`;
  }
  return undefined;
}

type Check = (got: number, want: number) => string | undefined;

const integerCheck: Check = (got, want) => (got === want ? undefined : `is ${got}, want ${want}`);

function floatCheck(dtype: FloatDType, { ulp, floor, signedZero, flushes }: Allowance): Check {
  const number = (raw: number): number => (dtype === "f32" ? raw : decode(dtype, raw));
  const slack = floor === 0 ? 0 : ulp * ulpSize(dtype, floor);
  const { minNormal } = floatFormats[dtype];
  return (rawGot, rawWant) => {
    if (rawGot === rawWant && rawGot !== 0) return undefined;
    const [got, want] = [number(rawGot), number(rawWant)];
    const say = (why: string): string => `is ${formatNumber(got)}, want ${formatNumber(want)}: ${why}`;
    if (Number.isNaN(got) || Number.isNaN(want)) {
      return Number.isNaN(got) && Number.isNaN(want) ? undefined : say("NaN agrees with NaN alone");
    }
    if (!Number.isFinite(got) || !Number.isFinite(want)) {
      return got === want ? undefined : say("an infinity agrees with itself alone");
    }
    if (got === 0 && want === 0) {
      return signedZero && !Object.is(got, want) ? say("the sign of zero counts here") : undefined;
    }
    // Tininess may be detected before rounding (IEEE 754, 7.5): then a value that rounds to the smallest normal number
    // becomes 0, too.
    if (flushes && got === 0 && Math.abs(want) <= minNormal) return undefined;
    if (Math.abs(got - want) <= slack) return undefined;
    const distance = ulpDistance(dtype, got, want);
    if (distance <= ulp) return undefined;
    const measured = floor === 0 ? "" : ` (ulps of ${floor} and more)`;
    return say(`${distance} ulp of ${dtype} apart, limit ${ulp}${measured}`);
  };
}

/** The spacing of a format's values at a magnitude. */
function ulpSize(dtype: FloatDType, magnitude: number): number {
  const { fractionBits, minExponent } = floatFormats[dtype];
  return 2 ** (Math.max(minExponent, Math.floor(Math.log2(magnitude))) - fractionBits);
}

const formatNumber = (x: number): string => (Object.is(x, -0) ? "-0" : String(x));

function place(at: number, shape: readonly number[]): string {
  const index: number[] = [];
  let rest = at;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const size = shape[axis] as number;
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return `[${index.join(", ")}]`;
}
