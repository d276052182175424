import { type DType, hostArrayOf } from "../dtype.js";
import type { HostTensor } from "../host-tensor.js";
import type { Shape } from "../shape.js";
import { parseHeader } from "./header.js";
import type { SafetensorsLimits } from "./limits.js";
import { tensorFromFile } from "./tensor-bytes.js";

/** A tensor as it lies in the file: little-endian, possibly unaligned, sharing the file's memory. */
export interface SafetensorsView {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly bytes: Uint8Array;
}

export interface SafetensorsFile {
  readonly tensors: ReadonlyMap<string, SafetensorsView>;
  readonly metadata: ReadonlyMap<string, string>;
}

/**
 * Reads a whole safetensors file without copying its tensors. Stricter than the reference implementation: see
 * `SAFETENSORS_PROBLEMS` for everything that is refused. Tensor values are not looked at (NaN is data).
 * @throws MP_PARSE with `details.problem`, MP_UNSUPPORTED for a dtype of the format that the SDK lacks
 */
export function parse(bytes: Uint8Array, limits: SafetensorsLimits = {}): SafetensorsFile {
  const header = parseHeader(bytes, bytes.length, limits);
  const tensors = new Map<string, SafetensorsView>();
  for (const [name, { dtype, shape, begin, end }] of header.tensors) {
    // Not subarray: of a Buffer it is a Buffer, whose slice() shares where Uint8Array's copies.
    const view = new Uint8Array(bytes.buffer, bytes.byteOffset + begin, end - begin);
    tensors.set(name, { dtype, shape, bytes: view });
  }
  return { tensors, metadata: header.metadata };
}

/**
 * Copies a view into a tensor of its own.
 * @throws MP_PARSE for a BOOL element other than 0 and 1
 */
export function hostTensorOfView(name: string, view: SafetensorsView): HostTensor {
  const data = new hostArrayOf[view.dtype](new Uint8Array(view.bytes).buffer);
  return tensorFromFile(name, view.dtype, view.shape, data);
}
