import { byteLength, bytesPerElement, type ValueType } from "@mp/graph";
import type { EngineTensor } from "./engine-memory.js";

/** Alignment, in bytes, with which kernels read fastest; the engine aligns its own memory in the same way. */
const ALIGNMENT = 64;

/**
 * Allocates one zeroed tensor, `whole`, and in its memory an aligned tensor for each type, `parts`. Release
 * `whole` after the parts.
 * @param allocate makes a tensor of a type; if `within` is given, in the memory of `within.whole`, at that offset in
 *   bytes
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
