/** TensorFlow's records: length (u64), its checksum (u32), data, its checksum (u32); all little-endian. */
import { recordChecksum } from "./crc32c.js";

const HEADER = 12;
const FOOTER = 4;

export function encodeRecord(data: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(HEADER + data.length + FOOTER);
  bytes.writeBigUInt64LE(BigInt(data.length));
  bytes.writeUInt32LE(recordChecksum(bytes.subarray(0, 8)), 8);
  bytes.set(data, HEADER);
  bytes.writeUInt32LE(recordChecksum(data), HEADER + data.length);
  return bytes;
}

/** Yields the data of each record, up to the first incomplete one, which a killed process may leave. */
export function* recordsIn(file: Uint8Array): Generator<Uint8Array, undefined> {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  for (let at = 0; at + HEADER + FOOTER <= bytes.length; ) {
    const length = Number(bytes.readBigUInt64LE(at));
    const end = at + HEADER + length;
    if (bytes.readUInt32LE(at + 8) !== recordChecksum(bytes.subarray(at, at + 8))) return;
    if (end + FOOTER > bytes.length) return;
    const data = bytes.subarray(at + HEADER, end);
    if (bytes.readUInt32LE(end) !== recordChecksum(data)) return;
    yield data;
    at = end + FOOTER;
  }
}
