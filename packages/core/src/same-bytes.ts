/** Whether two arrays hold the same bytes: NaN equals itself, and 0 is not -0. */
export function sameBytes(a: ArrayBufferView, b: ArrayBufferView): boolean {
  const [left, right] = [bytesOf(a), bytesOf(b)];
  return left.length === right.length && left.every((byte, at) => byte === right[at]);
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
