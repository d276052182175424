// Squares32 (Widynski, arXiv 2004.06278) on 32-bit halves of its 64-bit words: BigInt would take some fifty times
// as long. `trace/squares.ts` is the same in the paper's notation.

const WORD = 2 ** 32;

/** High 32 bits of the 64-bit product of two unsigned 32-bit integers. */
function highProduct(a: number, b: number): number {
  const a0 = a & 0xffff;
  const a1 = a >>> 16;
  const b0 = b & 0xffff;
  const b1 = b >>> 16;
  const cross = a1 * b0 + ((a0 * b0) >>> 16);
  const carry = (cross & 0xffff) + a0 * b1;
  return (a1 * b1 + Math.floor(cross / 0x10000) + Math.floor(carry / 0x10000)) >>> 0;
}

/** Outputs for consecutive counters from `counter` (modulo 2^64), each in the low half of a u64. */
export function randomBits(counter: bigint, key: bigint, length: number): BigUint64Array<ArrayBuffer> {
  const out = new BigUint64Array(length);
  const words = new Uint32Array(out.buffer);
  const low = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 0 : 1;
  const keyLow = Number(key & 0xffffffffn);
  const keyHigh = Number((key >> 32n) & 0xffffffffn);
  // y = counter · key grows by the key from one counter to the next.
  const first = BigInt.asUintN(64, counter * key);
  let yLow = Number(first & 0xffffffffn);
  let yHigh = Number(first >> 32n);
  for (let i = 0; i < length; i++) {
    const sumLow = yLow + keyLow;
    const zLow = sumLow >>> 0;
    const zHigh = (yHigh + keyHigh + (sumLow >= WORD ? 1 : 0)) >>> 0;
    let xLow = yLow;
    let xHigh = yHigh;
    for (let round = 0; round < 4; round++) {
      const even = (round & 1) === 0;
      const squareLow = Math.imul(xLow, xLow) >>> 0;
      const squareHigh = (highProduct(xLow, xLow) + 2 * (Math.imul(xLow, xHigh) >>> 0)) >>> 0;
      const added = squareLow + (even ? yLow : zLow);
      const high = (squareHigh + (even ? yHigh : zHigh) + (added >= WORD ? 1 : 0)) >>> 0;
      // The halves are swapped after each square; after the last, the high half is the output.
      xHigh = added >>> 0;
      xLow = high;
    }
    words[2 * i + low] = xLow;
    yLow = zLow;
    yHigh = zHigh;
  }
  return out;
}
