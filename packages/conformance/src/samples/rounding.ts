/** The expected result of a conversion to a float format, from the manifest's rounding and first principles. */
import {
  type BackendManifest,
  decode,
  encode,
  type FloatDType,
  floatFormats,
  type HostTensor,
  isComputeFloat,
  tensor,
} from "@mp/graph";
import { type Allowance, EXACT } from "../compare/allowance.js";
import { hostData, toNumbers } from "../host-data.js";

/** Rounds to the format toward zero. */
function truncate(dtype: FloatDType, x: number): number {
  const near = decode(dtype, encode(dtype, x));
  if (!(Math.abs(near) > Math.abs(x))) return near;
  if (Math.abs(near) === Number.POSITIVE_INFINITY) return Math.sign(x) * floatFormats[dtype].maxFinite;
  // The next bit pattern toward zero, since patterns of one sign have the order of their values.
  return decode(dtype, encode(dtype, near) - 1);
}

/** Converts a tensor to another float format, with the manifest's rounding and overflow. */
export function convert(manifest: BackendManifest, given: HostTensor, to: FloatDType): HostTensor {
  const rules = isComputeFloat(to)
    ? {
        rounding: manifest.rounding[to],
        overflow: manifest.overflow[to],
        subnormals: manifest.subnormals[to],
      }
    : { rounding: "nearest-even", overflow: "infinity", subnormals: "preserve" };
  const { maxFinite, minNormal } = floatFormats[to];
  const numbers = toNumbers(given).map((x) => {
    const rounded = rules.rounding === "toward-zero" ? truncate(to, x) : decode(to, encode(to, x));
    if (rules.subnormals === "flush" && Math.abs(rounded) < minNormal) return rounded * 0;
    const saturates = rules.overflow === "saturate" && Number.isFinite(x) && !Number.isFinite(rounded);
    return saturates ? Math.sign(x) * maxFinite : rounded;
  });
  return hostData(to, numbers, given.shape);
}

/**
 * Conversions are exact, unless the manifest leaves rounding open; then either neighbor is accepted. If subnormals
 * are flushed, a number that rounds to the smallest normal number may become 0, too.
 */
export function conversionAllowance(manifest: BackendManifest, to: FloatDType): Allowance {
  if (!isComputeFloat(to)) return EXACT;
  const open = manifest.rounding[to] === "unspecified";
  return open
    ? { ...EXACT, ulp: 1, flushes: true }
    : { ...EXACT, flushes: manifest.subnormals[to] === "flush" };
}

/** Every bit pattern of a narrow format. */
export function allPatterns(dtype: "f16" | "bf16" | "f8e4m3" | "f8e5m2"): HostTensor {
  const { bits } = floatFormats[dtype];
  const data = bits === 16 ? new Uint16Array(2 ** bits) : new Uint8Array(2 ** bits);
  for (let pattern = 0; pattern < data.length; pattern++) data[pattern] = pattern;
  return tensor(data as Uint8Array, [data.length], dtype as "f8e4m3");
}

/** All values of a narrow format and all ties between neighbors, with the f32 numbers next to each tie, in f32. */
export function ties(dtype: "f16" | "bf16" | "f8e4m3" | "f8e5m2"): HostTensor {
  const { maxFinite, maxExponent, fractionBits } = floatFormats[dtype];
  const beyond = maxFinite + 2 ** (maxExponent - fractionBits);
  const data: number[] = [];
  for (let pattern = 0; ; pattern++) {
    const low = decode(dtype, pattern);
    if (!(low <= maxFinite)) break;
    const next = decode(dtype, pattern + 1);
    const tie = (low + (next <= maxFinite ? next : beyond)) / 2;
    for (const x of [low, below(tie), tie, above(tie)]) data.push(x, -x);
  }
  return tensor(Float32Array.from(data));
}

const float = new Float32Array(1);
const bits = new Int32Array(float.buffer);

function step(x: number, by: number): number {
  float[0] = x;
  bits[0] = (bits[0] as number) + by;
  return float[0] as number;
}

/** The next f32 number below a positive one. */
const below = (x: number): number => step(x, -1);
/** The next f32 number above a positive one. */
const above = (x: number): number => step(x, 1);
