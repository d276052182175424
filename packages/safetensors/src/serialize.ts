import { checkedByteLength, isDType, SAFETENSORS_DTYPES as ORDER, type SafetensorsDType } from "./dtypes.js";
import { SafetensorsError } from "./errors.js";
import { LENGTH_BYTES, METADATA_KEY } from "./header.js";
import { defaultLimits } from "./limits.js";
import { formatShape, quote } from "./problem.js";
import type { SafetensorsTensor, WritableTensor } from "./tensor.js";
import { arrayClassNameOf, bytesOf, findNonBool, viewClassOf } from "./typed-arrays.js";

/** Classes whose views are taken as bytes, whatever the dtype. */
const BYTES = ["Uint8Array", "Uint8ClampedArray", "DataView"];

type Entries<V> = Iterable<readonly [string, V]>;

/**
 * Tensors in the order in which they are written: that of the reference writer, by dtype from the widest, then by name
 * in code-point order.
 */
export function inWritingOrder<T extends { readonly dtype: SafetensorsDType }>(
  tensors: Iterable<readonly [string, T]>,
): readonly (readonly [string, T])[] {
  return [...tensors].sort(
    ([a, x], [b, y]) => ORDER.indexOf(x.dtype) - ORDER.indexOf(y.dtype) || compareCodePoints(a, b),
  );
}

/**
 * The header of a file with these tensors, which are in writing order and lie one after the other, with its length
 * first: padded with spaces to 8 bytes as by the reference writer; metadata keys are sorted, which that writer leaves
 * to chance.
 * @throws SAFETENSORS_INVALID_ARGUMENT for metadata that a strict reader would refuse
 */
export function headerOf(
  tensors: Iterable<readonly [string, Pick<WritableTensor, "dtype" | "shape">]>,
  metadata: Entries<string>,
): Uint8Array {
  const parts: string[] = [];
  let offset = 0;
  for (const [name, { dtype, shape }] of tensors) {
    const end = offset + (checkedByteLength(shape, dtype) ?? 0);
    const fields = `"dtype":"${dtype}","shape":[${shape.join(",")}],"data_offsets":[${offset},${end}]`;
    parts.push(`${JSON.stringify(name)}:{${fields}}`);
    offset = end;
  }
  const count = parts.length;
  const metadataText = metadataJson(metadata);
  if (metadataText !== undefined) parts.unshift(metadataText);
  return encodeHeader(`{${parts.join(",")}}`, count);
}

/**
 * Tensors in writing order, each with the caller's memory as bytes, not copied.
 * @throws SAFETENSORS_INVALID_ARGUMENT for names or tensors that a strict reader would refuse
 */
export function piecesOf(
  tensors: Entries<WritableTensor>,
): readonly (readonly [string, SafetensorsTensor])[] {
  const pieces = new Map<string, SafetensorsTensor>();
  for (const [name, value] of tensors) {
    checkText(name, "tensor name");
    if (name === METADATA_KEY || pieces.has(name)) {
      const why = name === METADATA_KEY ? "the format's own key, rename the tensor" : "given twice";
      throw new SafetensorsError("SAFETENSORS_INVALID_ARGUMENT", `safetensors: ${quote(name)} is ${why}`);
    }
    pieces.set(name, checkedPiece(name, value));
  }
  return inWritingOrder(pieces);
}

/** The bytes that follow the header. */
export function dataOf(pieces: readonly (readonly [string, SafetensorsTensor])[]): readonly Uint8Array[] {
  return pieces.map(([, { data }]) => data).filter(({ length }) => length > 0);
}

/** A safetensors file in pieces: the header first, then each tensor's memory, not copied. @throws as both */
export function serializeToChunks(
  tensors: Entries<WritableTensor>,
  metadata: Entries<string> = [],
): readonly Uint8Array[] {
  const pieces = piecesOf(tensors);
  return [headerOf(pieces, metadata), ...dataOf(pieces)];
}

/** `serializeToChunks` in one array: a second copy of all tensors, so for files of moderate size. */
export function serialize(
  tensors: Entries<WritableTensor>,
  metadata: Entries<string> = [],
): Uint8Array<ArrayBuffer> {
  return joined(serializeToChunks(tensors, metadata));
}

/** The chunks one after the other, copied. */
export function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
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
      throw new SafetensorsError(
        "SAFETENSORS_INVALID_ARGUMENT",
        `safetensors: metadata key ${quote(key)} is given twice`,
      );
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
    throw new SafetensorsError(
      "SAFETENSORS_INVALID_ARGUMENT",
      `safetensors: ${what} must be a string, got ${typeof text}`,
    );
  }
  // UTF-8 has no lone surrogates: an encoder would silently write U+FFFD, and make two names equal.
  if (/\p{Surrogate}/u.test(text)) {
    throw new SafetensorsError(
      "SAFETENSORS_INVALID_ARGUMENT",
      `safetensors: ${what} ${quote(text)} holds a lone surrogate`,
    );
  }
}

function checkCount(count: number, what: string): void {
  if (count > defaultLimits.maxEntries) {
    throw new SafetensorsError(
      "SAFETENSORS_INVALID_ARGUMENT",
      `safetensors: ${count} ${what}, readers accept ${defaultLimits.maxEntries}`,
    );
  }
}

function checkedPiece(name: string, value: WritableTensor): SafetensorsTensor {
  const what = `safetensors: tensor ${quote(name)}`;
  const refuse = (problem: string): never => {
    throw new SafetensorsError("SAFETENSORS_INVALID_ARGUMENT", `${what} ${problem}`);
  };
  const viewClass = viewClassOf(value?.data);
  if (!isDType(value?.dtype) || !Array.isArray(value.shape) || viewClass === undefined)
    return refuse("is no tensor; give { dtype, shape, data } with a dtype of the format, such as F32");
  const { dtype, shape } = value;
  if (![arrayClassNameOf(dtype), ...BYTES].includes(viewClass))
    refuse(`is ${dtype}, which ${arrayClassNameOf(dtype)} or bytes (Uint8Array) hold, got ${viewClass}`);
  const data = bytesOf(value.data);
  const dimensionsAreCounts = shape.every((n) => Number.isSafeInteger(n) && n >= 0);
  if (!dimensionsAreCounts || checkedByteLength(shape, dtype) !== data.length)
    refuse(`of shape ${formatShape(shape)} does not take the ${data.length} bytes of its data`);
  if (shape.length > defaultLimits.maxDimensions)
    refuse(`has ${shape.length} dimensions, readers accept ${defaultLimits.maxDimensions}`);
  const index = dtype === "BOOL" ? findNonBool(data) : -1;
  if (index >= 0) refuse(`is BOOL, yet element ${index} is ${data[index]}`);
  return { dtype, shape, data };
}

function encodeHeader(json: string, tensorCount: number): Uint8Array {
  checkCount(tensorCount, "tensors");
  const text = new TextEncoder().encode(json);
  const length = Math.ceil(text.length / LENGTH_BYTES) * LENGTH_BYTES;
  if (length > defaultLimits.maxHeaderBytes) {
    throw new SafetensorsError(
      "SAFETENSORS_INVALID_ARGUMENT",
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
