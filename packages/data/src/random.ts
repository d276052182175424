import { claim, integer } from "./check-arguments.js";

/**
 * Seeded random numbers for data: shuffles and generated examples. Dropout masks and initial values come from core's
 * generator instead. Not for secrets.
 */
export interface RandomStream {
  /** Uniform in [0, 1), a multiple of 2^-32. */
  uniform(): number;
  /** A uniform integer below the limit, which is 1 … 2^32. @throws MP_INVALID_ARGUMENT for another limit */
  integer(limit: number): number;
  /** Standard normal. */
  normal(): number;
}

const checkKey = integer();
const checkLimit = integer(1, 2 ** 32);
const checkStream = claim(
  "what randomStream gives",
  (value) => typeof (value as Partial<RandomStream> | null | undefined)?.integer === "function",
);
const checkLength = integer(0, 2 ** 31);

/**
 * Makes the random stream of these keys (safe integers), the same on every machine. Streams of different keys are
 * independent, so `randomStream(seed, epoch)` needs no state from earlier epochs.
 * @throws MP_INVALID_ARGUMENT for a key that is not a safe integer
 */
export function randomStream(...keys: readonly number[]): RandomStream {
  for (const key of keys) checkKey("randomStream: key", key);
  const next = sfc32(keys);
  const uniform = (): number => next() / 2 ** 32;
  const integer = (limit: number): number => {
    checkLimit("integer: limit", limit);
    // Rejects some draws, because a plain remainder would prefer small values where the limit does not divide 2^32.
    const end = 2 ** 32 - (2 ** 32 % limit);
    for (;;) {
      const value = next();
      if (value < end) return value % limit;
    }
  };
  const normal = (): number => {
    const radius = Math.sqrt(-2 * Math.log((next() + 1) / 2 ** 32));
    return radius * Math.cos(2 * Math.PI * uniform());
  };
  return { uniform, integer, normal };
}

/** A permutation of 0 … length-1 (Fisher and Yates). @throws MP_INVALID_ARGUMENT for a length outside 0 … 2^31 */
export function permutation(length: number, stream: RandomStream): Uint32Array {
  checkLength("permutation: length", length);
  checkStream("permutation: stream", stream);
  const order = Uint32Array.from({ length }, (_, index) => index);
  for (let last = length - 1; last > 0; last--) {
    const other = stream.integer(last + 1);
    const value = order[last] ?? 0;
    order[last] = order[other] ?? 0;
    order[other] = value;
  }
  return order;
}

// Chris Doty-Humphrey's sfc32 (PractRand); the keys are absorbed one by one, each followed by the full 12
// rounds of warming up that its author gives for seeding.
function sfc32(keys: readonly number[]): () => number {
  // The count of keys is absorbed too, since (1) and (1, 0) would otherwise give one stream, shifted.
  let [a, b, c, counter] = [0x9e3779b9, 0x243f6a88, 0xb7e15162 ^ keys.length, 1];
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  };
  for (const key of keys) {
    a ^= key | 0;
    b ^= Math.floor(key / 2 ** 32) | 0;
    for (let round = 0; round < 12; round++) next();
  }
  return next;
}
