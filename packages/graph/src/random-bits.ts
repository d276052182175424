// Squares32 (Widynski, arXiv 2004.06278) on 32-bit halves of its 64-bit words: BigInt would take about fifty times as
// long. `trace/random/squares.ts` has the algorithm in the paper's notation.

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

/** The outputs of the generator for `length` consecutive counters from 2^32 · `drawn` on (modulo 2^64). */
export function randomBits(drawn: number, key: bigint, length: number): Int32Array<ArrayBuffer> {
  const out = new Int32Array(length);
  const keyLow = Number(key & 0xffffffffn);
  const keyHigh = Number((key >> 32n) & 0xffffffffn);
  // y = counter · key grows by the key from one counter to the next.
  let yLow = 0;
  let yHigh = Math.imul(drawn, keyLow) >>> 0;
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
    out[i] = xLow;
    yLow = zLow;
    yHigh = zHigh;
  }
  return out;
}
