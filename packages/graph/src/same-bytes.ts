/** Whether two arrays hold the same bytes, so that NaN equals itself and 0 does not equal -0. */
export function sameBytes(a: ArrayBufferView, b: ArrayBufferView): boolean {
  const [left, right] = [viewBytes(a), viewBytes(b)];
  if (left.length !== right.length) return false;
  for (let at = 0; at < left.length; at++) if (left[at] !== right[at]) return false;
  return true;
}

const viewBytes = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
