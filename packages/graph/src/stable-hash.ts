/**
 * A hash of a text in 16 hex digits, the same on every machine, to distinguish plans and programs; not cryptographic.
 * It is FNV-1a in two lanes, one for the text and one for the text with its bits inverted.
 */
export function stableHash(text: string): string {
  let low = 0x811c9dc5;
  let high = 0x050c5d1f;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ (unit ^ 0xffff), 0x01000193) ^ (low >>> 15);
  }
  return [high, low].map((lane) => (lane >>> 0).toString(16).padStart(8, "0")).join("");
}
