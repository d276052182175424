/** Chunks up to this size share a block: a system call or a hash update of 4 bytes costs as much as one of 64 KiB. */
const SMALL_BYTES = 2 ** 16;
export const BLOCK_BYTES: number = 2 ** 20;

/** Copies runs of small chunks into blocks of at most 1 MiB. The bytes stay the same. */
export function* mergeSmallChunks(chunks: Iterable<Uint8Array>): Generator<Uint8Array> {
  let block: Uint8Array | undefined;
  let filled = 0;
  for (const chunk of chunks) {
    if (block !== undefined && (chunk.length > SMALL_BYTES || filled + chunk.length > BLOCK_BYTES)) {
      yield block.subarray(0, filled);
      block = undefined;
      filled = 0;
    }
    if (chunk.length > SMALL_BYTES) yield chunk;
    else {
      // A new array for each block: the caller may still be writing the last one.
      block ??= new Uint8Array(BLOCK_BYTES);
      block.set(chunk, filled);
      filled += chunk.length;
    }
  }
  if (block !== undefined) yield block.subarray(0, filled);
}
