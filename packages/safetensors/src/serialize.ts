import { byteLength, isDType, SAFETENSORS_DTYPES as ORDER, type SafetensorsDType } from "./dtypes.js";
import { defaultLimits } from "./limits.js";
import { LENGTH_BYTES, METADATA_KEY } from "./parse-header.js";
import { formatShape, quote, refuseArgument } from "./problem.js";
import type { SafetensorsTensor, WritableTensor } from "./tensor.js";
import { arrayClassName, findNonBool, viewBytes, viewClassName } from "./typed-arrays.js";

/** Classes of views that are accepted as bytes for any dtype. */
const BYTES = ["Uint8Array", "Uint8ClampedArray", "DataView"];

type Entries<V> = Iterable<readonly [string, V]>;

/** Sorts tensors as the reference writer does: the widest dtype first, then by name in code-point order. */
export function inWritingOrder<T extends { readonly dtype: SafetensorsDType }>(
  tensors: Iterable<readonly [string, T]>,
): readonly (readonly [string, T])[] {
  return [...tensors].sort(
    ([a, x], [b, y]) => ORDER.indexOf(x.dtype) - ORDER.indexOf(y.dtype) || compareCodePoints(a, b),
  );
}

/**
 * Encodes the header of a file, with its length first. The tensors are in writing order. The header is padded with spaces
 * to a multiple of 8 bytes, as by the reference writer; metadata keys are sorted, which that writer leaves to chance.
 * @throws SAFETENSORS_INVALID_ARGUMENT for metadata that a strict reader would refuse
 */
export function encodeHeader(
  tensors: Iterable<readonly [string, Pick<WritableTensor, "dtype" | "shape">]>,
  metadata: Entries<string>,
): Uint8Array {
  const parts: string[] = [];
  let offset = 0;
  for (const [name, { dtype, shape }] of tensors) {
    const end = offset + (byteLength(shape, dtype) ?? 0);
    const fields = `"dtype":"${dtype}","shape":[${shape.join(",")}],"data_offsets":[${offset},${end}]`;
    parts.push(`${JSON.stringify(name)}:{${fields}}`);
    offset = end;
  }
  const count = parts.length;
  const metadataText = metadataJson(metadata);
  if (metadataText !== undefined) parts.unshift(metadataText);
  return padHeader(`{${parts.join(",")}}`, count);
}

/**
 * Checks tensors to be written, and sorts them into writing order. Their data are views of the caller's memory.
 * @throws SAFETENSORS_INVALID_ARGUMENT for names or tensors that a strict reader would refuse
 */
export function checkTensors(
  tensors: Entries<WritableTensor>,
): readonly (readonly [string, SafetensorsTensor])[] {
  const pieces = new Map<string, SafetensorsTensor>();
  for (const [name, value] of tensors) {
    checkText(name, "tensor name");
    if (name === METADATA_KEY || pieces.has(name)) {
      const why = name === METADATA_KEY ? "the format's own key, rename the tensor" : "given twice";
      refuseArgument(`safetensors: ${quote(name)} is ${why}`);
    }
    pieces.set(name, checkTensor(name, value));
  }
  return inWritingOrder(pieces);
}

/** The bytes that follow the header, as chunks. */
export function nonEmptyData(
  pieces: readonly (readonly [string, SafetensorsTensor])[],
): readonly Uint8Array[] {
  return pieces.map(([, { data }]) => data).filter(({ length }) => length > 0);
}

/**
 * Encodes a safetensors file as chunks: the header, then the memory of each tensor, without copying it.
 * @throws SAFETENSORS_INVALID_ARGUMENT for tensors, names or metadata that the format cannot store
 */
export function serializeToChunks(
  tensors: Entries<WritableTensor>,
  metadata: Entries<string> = [],
): readonly Uint8Array[] {
  const pieces = checkTensors(tensors);
  return [encodeHeader(pieces, metadata), ...nonEmptyData(pieces)];
}

/** Encodes a safetensors file as one array, a copy of all tensors. @throws as `serializeToChunks` */
export function serialize(
  tensors: Entries<WritableTensor>,
  metadata: Entries<string> = [],
): Uint8Array<ArrayBuffer> {
  return concatenate(serializeToChunks(tensors, metadata));
}

export function concatenate(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
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
    if (entries.has(key)) refuseArgument(`safetensors: metadata key ${quote(key)} is given twice`);
    entries.set(key, value);
  }
  if (entries.size === 0) return undefined;
  checkCount(entries.size, "metadata entries");
  const sorted = [...entries].sort(([a], [b]) => compareCodePoints(a, b));
  const members = sorted.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
  return `"${METADATA_KEY}":{${members.join(",")}}`;
}

function checkText(text: unknown, what: string): void {
  if (typeof text !== "string") refuseArgument(`safetensors: ${what} must be a string, got ${typeof text}`);
  // UTF-8 has no lone surrogates: an encoder writes U+FFFD for each, which could make two names equal.
  if (/\p{Surrogate}/u.test(text))
    refuseArgument(`safetensors: ${what} ${quote(text)} holds a lone surrogate`);
}

function checkCount(count: number, what: string): void {
  if (count > defaultLimits.maxEntries)
    refuseArgument(`safetensors: ${count} ${what}, readers accept ${defaultLimits.maxEntries}`);
}

function checkTensor(name: string, value: WritableTensor): SafetensorsTensor {
  const what = `safetensors: tensor ${quote(name)}`;
  const refuse = (problem: string): never => refuseArgument(`${what} ${problem}`);
  const viewClass = viewClassName(value?.data);
  if (!isDType(value?.dtype) || !Array.isArray(value.shape) || viewClass === undefined)
    return refuse("is no tensor; give { dtype, shape, data } with a dtype of the format, such as F32");
  const { dtype, shape } = value;
  if (![arrayClassName(dtype), ...BYTES].includes(viewClass))
    refuse(`is ${dtype}, which ${arrayClassName(dtype)} or bytes (Uint8Array) hold, got ${viewClass}`);
  const data = viewBytes(value.data);
  const dimensionsAreCounts = shape.every((n) => Number.isSafeInteger(n) && n >= 0);
  if (!dimensionsAreCounts || byteLength(shape, dtype) !== data.length)
    refuse(`of shape ${formatShape(shape)} does not take the ${data.length} bytes of its data`);
  if (shape.length > defaultLimits.maxDimensions)
    refuse(`has ${shape.length} dimensions, readers accept ${defaultLimits.maxDimensions}`);
  const index = dtype === "BOOL" ? findNonBool(data) : -1;
  if (index >= 0) refuse(`is BOOL, yet element ${index} is ${data[index]}`);
  return { dtype, shape, data };
}

function padHeader(json: string, tensorCount: number): Uint8Array {
  checkCount(tensorCount, "tensors");
  const text = new TextEncoder().encode(json);
  const length = Math.ceil(text.length / LENGTH_BYTES) * LENGTH_BYTES;
  if (length > defaultLimits.maxHeaderBytes) {
    refuseArgument(
      `safetensors: a header of ${length} bytes is above the format's ${defaultLimits.maxHeaderBytes}, use shorter names or several files`,
    );
  }
  const header = new Uint8Array(LENGTH_BYTES + length).fill(0x20);
  new DataView(header.buffer).setBigUint64(0, BigInt(length), true);
  header.set(text, LENGTH_BYTES);
  return header;
}

/** Compares by code point, the order of UTF-8 bytes. In UTF-16 order, characters above U+FFFF come before U+E000. */
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
