// `#sha256` outside Node: SHA-256 by FIPS 180-4. The browser's digest cannot hash in pieces, and is asynchronous.
import type { Sha256 } from "./sha256.js";

const BLOCK_BYTES = 64;
/** Offset of the message's length, in bits, in the last block. */
const LENGTH_AT = BLOCK_BYTES - 8;

const PRIMES: readonly number[] = Array.from({ length: 312 }, (_, n) => n).filter((n) => {
  for (let divisor = 2; divisor * divisor <= n; divisor++) if (n % divisor === 0) return false;
  return n > 1;
});
/** Initial state: 32 bits of the fractions of square roots of primes, which a double holds with bits to spare. */
const START = Int32Array.from(PRIMES.slice(0, 8), (prime) => (Math.sqrt(prime) % 1) * 2 ** 32);
/** Constants of the rounds: 32 bits of the fractions of cube roots of primes. */
const ROUNDS = Int32Array.from(PRIMES, (prime) => (Math.cbrt(prime) % 1) * 2 ** 32);

export function sha256(): Sha256 {
  const state = Int32Array.from(START);
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
      compress(state, schedule, rest, 0);
      inRest = 0;
    }
    for (; at + BLOCK_BYTES <= bytes.length; at += BLOCK_BYTES) compress(state, schedule, bytes, at);
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

/** Processes one block as in FIPS 180-4, section 6.2.2, with its names. */
function compress(state: Int32Array, w: Int32Array, bytes: Uint8Array, at: number): void {
  const words = new DataView(bytes.buffer, bytes.byteOffset + at, BLOCK_BYTES);
  for (let t = 0; t < 16; t++) w[t] = words.getInt32(4 * t);
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
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (ROUNDS[t] as number) + (w[t] as number)) | 0;
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
