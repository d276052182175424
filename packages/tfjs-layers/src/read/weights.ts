// The weights of a manifest: groups of files, whose bytes are those of the group's tensors in turn, some of them
// quantized.
import { type HostTensor, tensor } from "@mp/core";
import { decodeArray } from "@mp/core/graph";
import { isObject, type JsonObject, malformed, quote } from "../problem.js";
import { readShards } from "./files.js";

type Decode = (bytes: Uint8Array, quantization: JsonObject) => Float32Array;

/** The elements as an array on memory of its own, which is aligned. */
const bufferOf = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;

function scaled(values: ArrayLike<number>, { scale, min }: JsonObject): Float32Array {
  if (typeof scale !== "number" || typeof min !== "number") malformed("a quantization has no scale and min");
  return Float32Array.from(values, (value) => value * scale + min);
}

interface Stored {
  readonly bytes: number;
  readonly decode: Decode;
}

/** By the dtype that the bytes have: that of the quantization, or the tensor's. */
const STORED: Readonly<Record<string, Stored>> = {
  float32: { bytes: 4, decode: (bytes) => new Float32Array(bufferOf(bytes)) },
  float16: { bytes: 2, decode: (bytes) => decodeArray("f16", new Uint16Array(bufferOf(bytes))) },
  uint8: { bytes: 1, decode: (bytes, quantization) => scaled(bytes, quantization) },
  uint16: {
    bytes: 2,
    decode: (bytes, quantization) => scaled(new Uint16Array(bufferOf(bytes)), quantization),
  },
};

/** By name, without what the manifest calls the optimizer's. @throws MP_IO, MP_PARSE */
export async function readWeights(
  modelPath: string,
  manifest: unknown,
): Promise<ReadonlyMap<string, HostTensor>> {
  if (!Array.isArray(manifest)) malformed(`${quote(modelPath)} has no weightsManifest`);
  const all = new Map<string, HostTensor>();
  for (const group of manifest as readonly unknown[]) {
    const { paths, weights } = isObject(group) ? group : {};
    if (!isNames(paths) || !Array.isArray(weights)) malformed("a group of the weightsManifest is malformed");
    const bytes = await readShards(modelPath, paths as readonly string[]);
    let at = 0;
    for (const spec of weights as readonly unknown[]) {
      if (!isObject(spec)) malformed("a weight of the weightsManifest is malformed");
      const { name, shape, quantization } = spec as JsonObject;
      if (typeof name !== "string" || !isShape(shape)) malformed("a weight has no name or shape");
      const quantized = isObject(quantization) ? quantization : {};
      const { bytes: width, decode } = storedOf(spec as JsonObject, quantized);
      const length = (shape as readonly number[]).reduce((product, size) => product * size, width);
      if (!(at + length <= bytes.length))
        malformed(`the files end before the weight ${quote(name as string)}`);
      const part = bytes.subarray(at, at + length);
      at += length;
      if ((spec as JsonObject)["group"] === "optimizer") continue;
      all.set(name as string, tensor(decode(part, quantized), shape as readonly number[]));
    }
    if (at !== bytes.length)
      malformed(`${bytes.length - at} bytes of the weights' files belong to no weight`);
  }
  return all;
}

function storedOf({ name, dtype }: JsonObject, quantization: JsonObject): Stored {
  const type = quantization["dtype"] ?? dtype;
  const isKnown = typeof type === "string" && Object.hasOwn(STORED, type);
  if (isKnown && (dtype === "float32" || dtype === "float16")) return STORED[type] as Stored;
  return malformed(
    `the weight ${quote(String(name))} is ${String(dtype)}, stored as ${String(type)}; weights are float32`,
  );
}

const isNames = (value: unknown): boolean =>
  Array.isArray(value) && value.every((name) => typeof name === "string");
const isShape = (value: unknown): boolean =>
  Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
