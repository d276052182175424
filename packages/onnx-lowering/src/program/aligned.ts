/** Byte alignment at which kernels read fastest; an engine aligns its own memory the same way. */
const ALIGNMENT = 64;

/** Places pieces of memory one after another, each aligned. @param sizes in bytes */
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
