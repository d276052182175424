import { byteLength, bytesPerElement, type ValueType } from "@mp/graph";
import type { EngineTensor } from "./engine-memory.js";

/** Kernels read fastest from a multiple of this many bytes on, as they get all of an engine's own memory. */
const ALIGNMENT = 64;

/**
 * Tensors in the memory of a whole that is zeros, each aligned. The whole is released last.
 * @param allocate makes a tensor of a type, `within` the whole at an offset in bytes
 */
export function allocateAdjacent<T extends EngineTensor>(
  types: readonly ValueType[],
  allocate: (type: ValueType, within?: { readonly whole: T; readonly offset: number }) => T,
): { readonly whole: T; readonly parts: readonly T[] } {
  let bytes = 0;
  const offsets = types.map((type) => {
    const start = bytes;
    bytes += Math.ceil(byteLength(type) / ALIGNMENT) * ALIGNMENT;
    return start;
  });
  const whole = allocate({ dtype: "f32", shape: [bytes / bytesPerElement.f32] });
  whole.view().fill(0 as never);
  return { whole, parts: types.map((type, at) => allocate(type, { whole, offset: offsets[at] as number })) };
}
