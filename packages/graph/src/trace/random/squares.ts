/** Squares32 (Widynski, arXiv 2004.06278) and its keys, on the host. */

const MASK = (1n << 64n) - 1n;

/** FNV-1a of the name, then splitmix64's finalizer, made odd: a well-mixed 64-bit key, as the paper requires. */
export function squaresKey(name: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (let index = 0; index < name.length; index++) {
    hash = ((hash ^ BigInt(name.charCodeAt(index))) * 0x100000001b3n) & MASK;
  }
  hash = ((hash ^ (hash >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  hash = ((hash ^ (hash >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return (hash ^ (hash >> 31n)) | 1n;
}

const swap = (x: bigint): bigint => ((x >> 32n) | (x << 32n)) & MASK;

/** One 32-bit output: three squaring rounds that exchange the halves, and a fourth that keeps the high half. */
export function squares32(counter: bigint, key: bigint): number {
  const y = (counter * key) & MASK;
  const z = (y + key) & MASK;
  let x = y;
  x = swap((x * x + y) & MASK);
  x = swap((x * x + z) & MASK);
  x = swap((x * x + y) & MASK);
  return Number(((x * x + z) & MASK) >> 32n);
}
