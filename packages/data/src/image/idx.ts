import { type HostTensor, tensor } from "@mp/core";
import { path as checkPath } from "../check-arguments.js";
import { parseError } from "../errors.js";
import { readBytes } from "../read-bytes.js";

interface Element {
  readonly bytes: number;
  read(bytes: DataView, length: number): Uint8Array | Int32Array | Float32Array;
}

/** Readers of big-endian elements, by IDX type code; type codes that no dtype corresponds to are missing. */
const elements: Readonly<Record<number, Element>> = {
  8: { bytes: 1, read: (view, length) => new Uint8Array(view.buffer, view.byteOffset, length) },
  12: { bytes: 4, read: (view, length) => Int32Array.from({ length }, (_, at) => view.getInt32(4 * at)) },
  13: { bytes: 4, read: (view, length) => Float32Array.from({ length }, (_, at) => view.getFloat32(4 * at)) },
};

/**
 * Reads a file in MNIST's format: a magic number with type and rank, the dimensions, the elements; gzipped or not.
 * @returns a tensor of u8, i32 or f32 in the file's shape
 * @throws MP_IO for a file that cannot be read, MP_PARSE for one that is not of this format or is incomplete
 */
export async function readIdx(path: string): Promise<HostTensor<"u8" | "i32" | "f32">> {
  checkPath("readIdx: path", path);
  const bytes = await readBytes(path, (head) => measure(head, path));
  const { shape, element, headerBytes } = readHeader(bytes, path);
  const view = new DataView(bytes.buffer, bytes.byteOffset + headerBytes);
  return tensor(element.read(view, view.byteLength / element.bytes), shape);
}

function measure(head: Uint8Array, path: string): number {
  if (head.length < 4) return 4;
  const { rank } = elementType(head, path);
  if (head.length < 4 + 4 * rank) return 4 + 4 * rank;
  const { shape, element, headerBytes } = readHeader(head, path);
  return headerBytes + element.bytes * shape.reduce((a, b) => a * b, 1);
}

function readHeader(bytes: Uint8Array, path: string) {
  const { element, rank } = elementType(bytes, path);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const shape = Array.from({ length: rank }, (_, axis) => view.getUint32(4 + 4 * axis));
  const empty = shape.indexOf(0);
  const place = 4 + 4 * empty;
  if (empty !== -1) throw parseError(path, `dimension ${empty} is 0, at byte ${place}; no data`, place);
  return { shape, element, headerBytes: 4 + 4 * rank };
}

function elementType(bytes: Uint8Array, path: string) {
  const [first, second, code = 0, rank = 0] = bytes;
  const element = elements[code];
  if (first === 0 && second === 0 && element !== undefined && rank > 0) return { element, rank };
  const got = [...bytes.subarray(0, 4)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  throw parseError(
    path,
    `no IDX file, at byte 0 are ${got} and not 00 00, a type of 08, 0c or 0d, and a rank; files such as train-images-idx3-ubyte(.gz) are`,
  );
}
