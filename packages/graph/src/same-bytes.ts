/** Whether two arrays hold the same bytes. By this test NaN equals itself, and 0 does not equal -0. */
export function sameBytes(a: ArrayBufferView, b: ArrayBufferView): boolean {
  if (a.byteLength !== b.byteLength) return false;
  const view = [a, b].every(hasWholeWords) ? viewWords : viewBytes;
  const [left, right] = [view(a), view(b)];
  for (let at = 0; at < left.length; at++) if (left[at] !== right[at]) return false;
  return true;
}

const hasWholeWords = ({ byteOffset, byteLength }: ArrayBufferView): boolean =>
  (byteOffset | byteLength) % 4 === 0;

const viewWords = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Int32Array | Uint8Array =>
  new Int32Array(buffer, byteOffset, byteLength / 4);

const viewBytes = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Int32Array | Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
