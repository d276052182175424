import type { SafetensorsLimits } from "./limits.js";
import { parseHeader } from "./parse-header.js";
import { refuseArgument } from "./problem.js";
import type { SafetensorsTensor } from "./tensor.js";
import { checkBools, viewClassName } from "./typed-arrays.js";

export interface SafetensorsFile {
  /** Tensors in the order of the header. Their data are views of the given bytes, perhaps unaligned. */
  readonly tensors: ReadonlyMap<string, SafetensorsTensor>;
  readonly metadata: ReadonlyMap<string, string>;
}

/**
 * Reads a whole safetensors file without copying its tensors. Stricter than the reference implementation:
 * `SAFETENSORS_PROBLEMS` lists the reasons for refusal. Values are not checked, except that BOOL is 0 or 1.
 * @throws SAFETENSORS_PARSE with `details.problem`, SAFETENSORS_INVALID_ARGUMENT for anything but a `Uint8Array`
 */
export function parse(bytes: Uint8Array, limits: SafetensorsLimits = {}): SafetensorsFile {
  const viewClass = viewClassName(bytes);
  if (viewClass !== "Uint8Array") {
    const given = viewClass ?? Object.prototype.toString.call(bytes).slice(8, -1);
    refuseArgument(`safetensors: takes the bytes of a file as Uint8Array, got ${given}`);
  }
  const header = parseHeader(bytes, bytes.length, limits);
  const tensors = new Map<string, SafetensorsTensor>();
  for (const [name, { dtype, shape, begin, end }] of header.tensors) {
    // Not subarray: of a Buffer it returns a Buffer, whose slice() shares memory and does not copy.
    const data = new Uint8Array(bytes.buffer, bytes.byteOffset + begin, end - begin);
    checkBools(name, dtype, data);
    tensors.set(name, { dtype, shape, data });
  }
  return { tensors, metadata: header.metadata };
}
