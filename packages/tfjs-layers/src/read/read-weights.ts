// The weights of a manifest: groups of files. The joined bytes of a group are its tensors, one after another. Some
// tensors are quantized.
import { decodeArray, type HostTensor, tensor } from "@mp/graph";
import { isObject, type JsonObject, quote, refuseFile } from "../problem.js";
import { findShards, readShards } from "./files.js";

type Decode = (bytes: Uint8Array, quantization: JsonObject) => Float32Array;

/** Copies bytes into a buffer that is aligned for any element. */
const copyBuffer = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;

function dequantize(values: ArrayLike<number>, { scale, min }: JsonObject): Float32Array {
  if (typeof scale !== "number" || typeof min !== "number") refuseFile("a quantization has no scale and min");
  return Float32Array.from(values, (value) => value * scale + min);
}

interface Stored {
  readonly bytes: number;
  readonly decode: Decode;
}

/** Decoders of stored bytes, by the dtype of the quantization or, if there is none, of the tensor. */
const STORED: Readonly<Record<string, Stored>> = {
  float32: { bytes: 4, decode: (bytes) => new Float32Array(copyBuffer(bytes)) },
  float16: { bytes: 2, decode: (bytes) => decodeArray("f16", new Uint16Array(copyBuffer(bytes))) },
  uint8: { bytes: 1, decode: (bytes, quantization) => dequantize(bytes, quantization) },
  uint16: {
    bytes: 2,
    decode: (bytes, quantization) => dequantize(new Uint16Array(copyBuffer(bytes)), quantization),
  },
};

/** Bytes per element of an optimizer's tensors, which are skipped. */
const ELEMENT_BYTES: Readonly<Record<string, number>> = {
  float32: 4,
  float16: 2,
  int32: 4,
  uint8: 1,
  bool: 1,
};

/** A tensor of a group and its range of bytes. `decode` is undefined for an optimizer's tensor, which is not read. */
interface StoredTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
  readonly decode: ((bytes: Uint8Array) => Float32Array) | undefined;
}

/** Reads the tensors by name, except those of an optimizer. @throws MP_IO, MP_PARSE, MP_OUT_OF_MEMORY */
export async function readWeights(
  modelPath: string,
  manifest: unknown,
): Promise<ReadonlyMap<string, HostTensor>> {
  if (!Array.isArray(manifest)) refuseFile(`${quote(modelPath)} has no weightsManifest`);
  const all = new Map<string, HostTensor>();
  for (const group of manifest as readonly unknown[]) {
    const { paths, weights } = isObject(group) ? group : {};
    if (!isNames(paths) || !Array.isArray(weights))
      return refuseFile("a group of the weightsManifest is malformed");
    const placed = layOut(weights);
    const shards = await findShards(modelPath, paths);
    expectFits(
      placed,
      shards.reduce((sum, { size }) => sum + size, 0),
    );
    const bytes = await readShards(shards);
    for (const { name, shape, begin, end, decode } of placed)
      if (decode !== undefined) all.set(name, tensor(decode(bytes.subarray(begin, end)), shape));
  }
  return all;
}

/** Finds the byte range of each tensor; tensors follow each other as in the manifest. */
function layOut(weights: readonly unknown[]): readonly StoredTensor[] {
  let at = 0;
  return weights.map((spec) => {
    if (!isObject(spec)) return refuseFile("a weight of the weightsManifest is malformed");
    const { name, shape, dtype, quantization } = spec;
    if (typeof name !== "string" || !isShape(shape)) return refuseFile("a weight has no name or shape");
    const quantized = isObject(quantization) ? quantization : {};
    const isOptimizers = spec["group"] === "optimizer";
    const stored = isOptimizers ? undefined : storageFormat(spec, quantized);
    const width = stored?.bytes ?? elementBytes(name, quantized["dtype"] ?? dtype);
    const begin = at;
    at += shape.reduce((product, size) => product * size, width);
    return { name, shape, begin, end: at, decode: stored && ((bytes) => stored.decode(bytes, quantized)) };
  });
}

/** Checks, before anything is read, that the tensors exactly fill the files. */
function expectFits(placed: readonly StoredTensor[], size: number): void {
  const beyond = placed.find(({ end }) => !(end <= size));
  if (beyond !== undefined) refuseFile(`the files end before the weight ${quote(beyond.name)}`);
  const left = size - (placed.at(-1)?.end ?? 0);
  if (left !== 0) refuseFile(`${left} bytes of the weights' files belong to no weight`);
}

function elementBytes(name: string, dtype: unknown): number {
  const isKnown = typeof dtype === "string" && Object.hasOwn(ELEMENT_BYTES, dtype);
  return isKnown
    ? (ELEMENT_BYTES[dtype] as number)
    : refuseFile(`the weight ${quote(name)} is ${String(dtype)}`);
}

function storageFormat({ name, dtype }: JsonObject, quantization: JsonObject): Stored {
  const type = quantization["dtype"] ?? dtype;
  const isKnown = typeof type === "string" && Object.hasOwn(STORED, type);
  if (isKnown && (dtype === "float32" || dtype === "float16")) return STORED[type] as Stored;
  return refuseFile(
    `the weight ${quote(String(name))} is ${String(dtype)}, stored as ${String(type)}; weights are float32`,
  );
}

const isNames = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((name) => typeof name === "string");
const isShape = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
