import { SafetensorsError } from "./errors.js";
import { parseHeader } from "./header.js";
import type { SafetensorsLimits } from "./limits.js";
import type { SafetensorsTensor } from "./tensor.js";
import { checkBools, viewClassOf } from "./typed-arrays.js";

export interface SafetensorsFile {
  /** In the order of the header, as views of the given bytes: unaligned perhaps, and not copied. */
  readonly tensors: ReadonlyMap<string, SafetensorsTensor>;
  readonly metadata: ReadonlyMap<string, string>;
}

/**
 * Reads a whole safetensors file without copying its tensors. Stricter than the reference implementation: see
 * `SAFETENSORS_PROBLEMS` for everything that is refused. Of the values only those of BOOL are looked at (NaN is data).
 * @throws SAFETENSORS_PARSE with `details.problem`, SAFETENSORS_INVALID_ARGUMENT for anything but a `Uint8Array`
 */
export function parse(bytes: Uint8Array, limits: SafetensorsLimits = {}): SafetensorsFile {
  const viewClass = viewClassOf(bytes);
  if (viewClass !== "Uint8Array") {
    throw new SafetensorsError(
      "SAFETENSORS_INVALID_ARGUMENT",
      `safetensors: takes the bytes of a file as Uint8Array, got ${viewClass ?? Object.prototype.toString.call(bytes).slice(8, -1)}`,
    );
  }
  const header = parseHeader(bytes, bytes.length, limits);
  const tensors = new Map<string, SafetensorsTensor>();
  for (const [name, { dtype, shape, begin, end }] of header.tensors) {
    // Not subarray: of a Buffer it is a Buffer, whose slice() shares where Uint8Array's copies.
    const data = new Uint8Array(bytes.buffer, bytes.byteOffset + begin, end - begin);
    checkBools(name, dtype, data);
    tensors.set(name, { dtype, shape, data });
  }
  return { tensors, metadata: header.metadata };
}
