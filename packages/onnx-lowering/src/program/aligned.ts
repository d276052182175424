/** Kernels read fastest from a multiple of this many bytes on, as they get all of an engine's own memory. */
const ALIGNMENT = 64;

/** Lays pieces of memory one after another, each aligned. @param sizes in bytes */
export function aligned(sizes: readonly number[]): {
  readonly offsets: readonly number[];
  readonly bytes: number;
} {
  let bytes = 0;
  const offsets = sizes.map((size) => {
    const start = bytes;
    bytes += Math.ceil(size / ALIGNMENT) * ALIGNMENT;
    return start;
  });
  return { offsets, bytes };
}
