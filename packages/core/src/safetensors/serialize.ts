import type { DType } from "../dtype.js";
import { MpError } from "../errors.js";
import { byteLength, type HostTensor, isHostTensor } from "../host-tensor.js";
import { formatShape, type Shape } from "../shape.js";
import { storageFor } from "../typed-array.js";
import { formatNames, writingOrder } from "./format-dtypes.js";
import { checkedByteLength, LENGTH_BYTES, METADATA_KEY } from "./header.js";
import { defaultLimits } from "./limits.js";
import { quote } from "./problem.js";
import { bytesOfTensor, findNonBool } from "./tensor-bytes.js";

type Entries<V> = Iterable<readonly [string, V]>;

/** A tensor as it goes into a file. */
export interface Piece {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly bytes: Uint8Array;
}

/**
 * Tensors in the order in which they are written: that of the reference writer, by dtype from the widest, then by name
 * in code-point order.
 */
export function inWritingOrder<T extends { readonly dtype: DType }>(
  tensors: Iterable<readonly [string, T]>,
): readonly (readonly [string, T])[] {
  return [...tensors].sort(
    ([a, x], [b, y]) =>
      writingOrder.indexOf(x.dtype) - writingOrder.indexOf(y.dtype) || compareCodePoints(a, b),
  );
}

/**
 * The header of a file with these tensors, which are in writing order and lie one after the other, with its length
 * first: padded with spaces to 8 bytes as by the reference writer; metadata keys are sorted, which that writer leaves
 * to chance.
 * @throws MP_INVALID_ARGUMENT for metadata that a strict reader would refuse
 */
export function headerOf(
  tensors: Iterable<readonly [string, { readonly dtype: DType; readonly shape: Shape }]>,
  metadata: Entries<string>,
): Uint8Array {
  const parts: string[] = [];
  let offset = 0;
  for (const [name, { dtype, shape }] of tensors) {
    const end = offset + byteLength({ dtype, shape });
    const fields = `"dtype":"${formatNames[dtype]}","shape":[${shape.join(",")}],"data_offsets":[${offset},${end}]`;
    parts.push(`${JSON.stringify(name)}:{${fields}}`);
    offset = end;
  }
  const count = parts.length;
  const metadataText = metadataJson(metadata);
  if (metadataText !== undefined) parts.unshift(metadataText);
  return encodeHeader(`{${parts.join(",")}}`, count);
}

/**
 * Tensors in writing order, each with its own memory as bytes, not copied.
 * @throws MP_INVALID_ARGUMENT for names or tensors that a strict reader would refuse
 */
export function piecesOf(tensors: Entries<HostTensor>): readonly (readonly [string, Piece])[] {
  const pieces = new Map<string, Piece>();
  for (const [name, value] of tensors) {
    checkText(name, "tensor name");
    if (name === METADATA_KEY || pieces.has(name)) {
      const why = name === METADATA_KEY ? "the format's own key, rename the tensor" : "given twice";
      throw new MpError("MP_INVALID_ARGUMENT", `safetensors: ${quote(name)} is ${why}`);
    }
    pieces.set(name, checkedPiece(name, value));
  }
  return inWritingOrder(pieces);
}

/** The bytes that follow the header. */
export function dataOf(pieces: readonly (readonly [string, Piece])[]): readonly Uint8Array[] {
  return pieces.map(([, { bytes }]) => bytes).filter(({ length }) => length > 0);
}

/** A safetensors file in pieces: the header first, then each tensor's own memory, not copied. @throws as both */
export function serializeToChunks(
  tensors: Entries<HostTensor>,
  metadata: Entries<string> = [],
): readonly Uint8Array[] {
  const pieces = piecesOf(tensors);
  return [headerOf(pieces, metadata), ...dataOf(pieces)];
}

/** `serializeToChunks` in one array: a second copy of all tensors, so for files of moderate size. */
export function serialize(tensors: Entries<HostTensor>, metadata: Entries<string> = []): Uint8Array {
  const chunks = serializeToChunks(tensors, metadata);
  const out = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    out.set(chunk, offset);
    offset += chunk.length;
  }
  return out;
}

function metadataJson(metadata: Entries<string>): string | undefined {
  const entries = new Map<string, string>();
  for (const [key, value] of metadata) {
    checkText(key, "metadata key");
    checkText(value, `metadata of ${quote(key)}`);
    if (entries.has(key)) {
      throw new MpError("MP_INVALID_ARGUMENT", `safetensors: metadata key ${quote(key)} is given twice`);
    }
    entries.set(key, value);
  }
  if (entries.size === 0) return undefined;
  checkCount(entries.size, "metadata entries");
  const sorted = [...entries].sort(([a], [b]) => compareCodePoints(a, b));
  const members = sorted.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
  return `"${METADATA_KEY}":{${members.join(",")}}`;
}

function checkText(text: unknown, what: string): void {
  if (typeof text !== "string") {
    throw new MpError("MP_INVALID_ARGUMENT", `safetensors: ${what} must be a string, got ${typeof text}`);
  }
  // UTF-8 has no lone surrogates: an encoder would silently write U+FFFD, and make two names equal.
  if (/\p{Surrogate}/u.test(text)) {
    throw new MpError("MP_INVALID_ARGUMENT", `safetensors: ${what} ${quote(text)} holds a lone surrogate`);
  }
}

function checkCount(count: number, what: string): void {
  if (count > defaultLimits.maxEntries) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `safetensors: ${count} ${what}, readers accept ${defaultLimits.maxEntries}`,
    );
  }
}

function checkedPiece(name: string, value: HostTensor): Piece {
  const what = `safetensors: tensor ${quote(name)}`;
  if (!isHostTensor(value) || storageFor(value.dtype, value.data) === undefined) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `${what} is not a host tensor, make one with tensor(data, shape, dtype)`,
    );
  }
  const bytes = bytesOfTensor(value.data);
  const dimensionsAreCounts = value.shape.every((n) => Number.isSafeInteger(n) && n >= 0);
  if (!dimensionsAreCounts || checkedByteLength(value.shape, value.dtype) !== bytes.length) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `${what} of shape ${formatShape(value.shape)} does not hold its ${value.data.length} elements`,
    );
  }
  if (value.shape.length > defaultLimits.maxDimensions) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `${what} has ${value.shape.length} dimensions, readers accept ${defaultLimits.maxDimensions}`,
    );
  }
  const index = value.dtype === "bool" ? findNonBool(bytes) : -1;
  if (index >= 0) {
    throw new MpError("MP_INVALID_ARGUMENT", `${what} is bool, yet element ${index} is ${bytes[index]}`);
  }
  return { dtype: value.dtype, shape: value.shape, bytes };
}

function encodeHeader(json: string, tensorCount: number): Uint8Array {
  checkCount(tensorCount, "tensors");
  const text = new TextEncoder().encode(json);
  const length = Math.ceil(text.length / LENGTH_BYTES) * LENGTH_BYTES;
  if (length > defaultLimits.maxHeaderBytes) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `safetensors: a header of ${length} bytes is above the format's ${defaultLimits.maxHeaderBytes}, ` +
        "use shorter names or several files",
    );
  }
  const header = new Uint8Array(LENGTH_BYTES + length).fill(0x20);
  new DataView(header.buffer).setBigUint64(0, BigInt(length), true);
  header.set(text, LENGTH_BYTES);
  return header;
}

/** Order of UTF-8 bytes. UTF-16 order differs: it puts surrogates, hence astral characters, before U+E000. */
function compareCodePoints(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
