/** TensorFlow's records: length (u64), its checksum (u32), data, its checksum (u32); all little-endian. */
import { maskedCrc32c } from "./crc32c.js";

const HEADER = 12;
const FOOTER = 4;

export function recordOf(data: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(HEADER + data.length + FOOTER);
  bytes.writeBigUInt64LE(BigInt(data.length));
  bytes.writeUInt32LE(maskedCrc32c(bytes.subarray(0, 8)), 8);
  bytes.set(data, HEADER);
  bytes.writeUInt32LE(maskedCrc32c(data), HEADER + data.length);
  return bytes;
}

/** The data of the records up to the end or to the first one that is not whole, as a killed process leaves it. */
export function* recordsIn(file: Uint8Array): Generator<Uint8Array, undefined> {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  for (let at = 0; at + HEADER + FOOTER <= bytes.length; ) {
    const length = Number(bytes.readBigUInt64LE(at));
    const end = at + HEADER + length;
    if (bytes.readUInt32LE(at + 8) !== maskedCrc32c(bytes.subarray(at, at + 8))) return;
    if (end + FOOTER > bytes.length) return;
    const data = bytes.subarray(at + HEADER, end);
    if (bytes.readUInt32LE(end) !== maskedCrc32c(data)) return;
    yield data;
    at = end + FOOTER;
  }
}
