/**
 * Data and initial weights from an integer hash, the same bits in every language: the finalizer of murmur3 over index ·
 * 2^32/φ + seed · k. Peers compute theirs in the same way, so that first losses can be compared.
 */

function indexHash(seed: number): (index: number) => number {
  const offset = Math.imul(seed, 0x85ebca77);
  return (index) => {
    let hash = (Math.imul(index, 0x9e3779b1) + offset) | 0;
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
  };
}

/** Uniform in ±limit, from the hash's upper 24 bits. */
export function uniformValues(seed: number, size: number, limit: number): Float32Array {
  const hash = indexHash(seed);
  const values = new Float32Array(size);
  for (let index = 0; index < size; index++)
    values[index] = (2 * ((hash(index) >>> 8) * 2 ** -24) - 1) * limit;
  return values;
}

/** Indices in 0 … vocabulary - 1. */
export function tokenValues(seed: number, size: number, vocabulary: number): Int32Array {
  const hash = indexHash(seed);
  const values = new Int32Array(size);
  for (let index = 0; index < size; index++) values[index] = hash(index) % vocabulary;
  return values;
}
