// `#sha256` where there is no Node: SHA-256 by FIPS 180-4. The web's own digest takes no pieces, and answers later.
import type { Sha256 } from "./sha256.js";

const BLOCK_BYTES = 64;
/** Offset in the last block of the message's length in bits. */
const LENGTH_AT = BLOCK_BYTES - 8;

const isPrime = (n: number): boolean => {
  for (let divisor = 2; divisor * divisor <= n; divisor++) if (n % divisor === 0) return false;
  return true;
};

const primes = (count: number): readonly number[] => {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) if (isPrime(n)) found.push(n);
  return found;
};

/** The first 32 bits of the fraction of x^(1/root): the standard's constants. */
const fraction32 = (x: number, root: 2 | 3): number => {
  const shift = BigInt(32 * root);
  const target = BigInt(x) << shift;
  // The largest integer whose power does not exceed x · 2^(32 root): 32 bits and those of the integer part.
  let low = 0n;
  let high = 1n << 40n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** BigInt(root) <= target) low = middle;
    else high = middle;
  }
  return Number(BigInt.asIntN(32, low));
};

interface Constants {
  readonly start: Int32Array;
  readonly rounds: Int32Array;
}

let constants: Constants | undefined;

function constantsOf(): Constants {
  constants ??= {
    start: Int32Array.from(primes(8), (prime) => fraction32(prime, 2)),
    rounds: Int32Array.from(primes(64), (prime) => fraction32(prime, 3)),
  };
  return constants;
}

export function sha256(): Sha256 {
  const { start, rounds } = constantsOf();
  const state = Int32Array.from(start);
  const schedule = new Int32Array(64);
  const rest = new Uint8Array(BLOCK_BYTES);
  let inRest = 0;
  let length = 0;

  const add = (bytes: Uint8Array): void => {
    let at = 0;
    if (inRest > 0) {
      at = Math.min(BLOCK_BYTES - inRest, bytes.length);
      rest.set(bytes.subarray(0, at), inRest);
      inRest += at;
      if (inRest < BLOCK_BYTES) return;
      compress(state, schedule, rounds, rest, 0);
      inRest = 0;
    }
    for (; at + BLOCK_BYTES <= bytes.length; at += BLOCK_BYTES) compress(state, schedule, rounds, bytes, at);
    rest.set(bytes.subarray(at));
    inRest = bytes.length - at;
  };

  return {
    update(bytes) {
      length += bytes.length;
      add(bytes);
    },
    digest() {
      // A one bit, zeros up to the last eight bytes of a block, the length.
      const padding = new Uint8Array(((LENGTH_AT + BLOCK_BYTES - 1 - inRest) % BLOCK_BYTES) + 1 + 8);
      padding[0] = 0x80;
      new DataView(padding.buffer).setBigUint64(padding.length - 8, BigInt(length) * 8n);
      add(padding);
      return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
    },
  };
}

/** One block of FIPS 180-4, section 6.2.2, with its names. */
function compress(state: Int32Array, w: Int32Array, k: Int32Array, bytes: Uint8Array, at: number): void {
  for (let t = 0; t < 16; t++) {
    const i = at + 4 * t;
    w[t] =
      ((bytes[i] as number) << 24) |
      ((bytes[i + 1] as number) << 16) |
      ((bytes[i + 2] as number) << 8) |
      (bytes[i + 3] as number);
  }
  for (let t = 16; t < 64; t++) {
    const x = w[t - 15] as number;
    const y = w[t - 2] as number;
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[t] = (w[t - 16] as number) + s0 + (w[t - 7] as number) + s1;
  }
  let a = state[0] as number;
  let b = state[1] as number;
  let c = state[2] as number;
  let d = state[3] as number;
  let e = state[4] as number;
  let f = state[5] as number;
  let g = state[6] as number;
  let h = state[7] as number;
  for (let t = 0; t < 64; t++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (k[t] as number) + (w[t] as number)) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  const sums = [a, b, c, d, e, f, g, h];
  for (let i = 0; i < 8; i++) state[i] = (state[i] as number) + (sums[i] as number);
}
