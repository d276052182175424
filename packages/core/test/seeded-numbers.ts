/** The float32 numbers that fixtures/quantization.py makes of integers, bit for bit. */
export const EDGES: number = 3 << 13;
const SIZE = 1 << 20;

/** Mixes a 32-bit integer so that each bit of the result depends on each bit of x. */
function mixed(x: number): number {
  let value = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  value = Math.imul(value ^ (value >>> 15), 0x846ca68b);
  return (value ^ (value >>> 16)) >>> 0;
}

const fromBits = (bitsAt: (index: number) => number): Float32Array<ArrayBuffer> =>
  new Float32Array(Uint32Array.from({ length: SIZE }, (_, index) => bitsAt(index)).buffer);

/** Each float32 with at most four bits of fraction and both its neighbors, then numbers of all exponents. */
export const patterns = (): Float32Array<ArrayBuffer> =>
  fromBits((i) => (i < EDGES ? (Math.trunc(i / 3) << 19) + (i % 3) - 1 : mixed(i)));

/**
 * 1024 rows of 1024, in 64 tensors of 16 rows, each of another magnitude; blocks, rows and a tensor of zeros; NaN in
 * tensor 20, infinities in 21, both in 22.
 */
export const blocks = (): Float32Array<ArrayBuffer> => fromBits((i) => blockBits(i >>> 10, i & 1023));

function blockBits(row: number, column: number): number {
  const h = mixed(row * 1024 + column + SIZE);
  const tensor = row >>> 4;
  const of = (size: number): number => mixed(row * 64 + Math.trunc(column / size) + (size << 21));
  const sign = h & 0x80000000;
  if (h % 509 === 0) {
    if (tensor === 20 || (tensor === 22 && column % 2 === 0)) return 0x7fc00000;
    if (tensor === 21 || tensor === 22) return sign | 0x7f800000;
  }
  const kind = (h >>> 27) & 15;
  const isZero =
    kind === 3 ||
    of(16) >>> 28 === 0 ||
    of(128) >>> 28 === 0 ||
    mixed(row + 7) >>> 27 === 0 ||
    tensor === 40 ||
    (row >>> 7 === 5 && column >>> 7 === 3);
  if (isZero) return sign;
  const few = h & 0x780000;
  const fraction = [few, few | 0x07ffff, few | 1][kind] ?? h & 0x7fffff;
  const drop = (mixed(row) % 8) + (of(16) % 16) + ((h >>> 23) & 15);
  const exponent = Math.max((tensor === 63 ? 20 : 254 - 3 * tensor) - drop, 0);
  return sign | (exponent << 23) | fraction;
}
