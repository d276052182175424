const PRIME = 0x01000193;

/**
 * A hash of an array's bytes in 16 hex digits; not cryptographic, and it depends on the machine's byte order. Computed
 * by two lanes of FNV-1a over 32-bit words. The high bits are folded down, since otherwise two flipped signs would
 * cancel.
 */
export function contentHash({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  const length = byteLength >>> 2;
  const words =
    byteOffset % 4 === 0
      ? new Uint32Array(buffer, byteOffset, length)
      : new Uint32Array(buffer.slice(byteOffset, byteOffset + 4 * length));
  let low = Math.imul(0x811c9dc5 ^ byteLength, PRIME);
  let high = 0x050c5d1f;
  const take = (word: number): void => {
    low = Math.imul(low ^ word, PRIME);
    low ^= low >>> 15;
    high = Math.imul(high ^ word ^ low, PRIME);
    high ^= high >>> 13;
  };
  for (const word of words) take(word);
  for (const byte of new Uint8Array(buffer, byteOffset + 4 * length, byteLength % 4)) take(byte);
  return [high, low].map((lane) => (lane >>> 0).toString(16).padStart(8, "0")).join("");
}
