import { refuse } from "../problem.js";

/** The part of Node's `FileHandle` that reading uses. */
export interface ReadableFile {
  /** May read fewer bytes than asked for; 0 at the end of the file. */
  read(
    into: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
}

/** Bytes read by one system call (the limit is 2 GiB), or hashed in one turn of the event loop: about 10 ms. */
export const SLICE_BYTES: number = 2 ** 24;

/** Fills the buffer from a position of the file. @throws SAFETENSORS_PARSE if the file ends early */
export async function readFully(
  file: ReadableFile,
  buffer: ArrayBufferLike,
  position: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let offset = 0; offset < buffer.byteLength; ) {
    signal?.throwIfAborted();
    const piece = new Uint8Array(buffer, offset, Math.min(buffer.byteLength - offset, SLICE_BYTES));
    const { bytesRead } = await file.read(piece, 0, piece.length, position + offset);
    if (bytesRead === 0) {
      const fileLength = position + offset;
      refuse("data-missing", `the file shrank to ${fileLength} bytes while it was read`, { fileLength });
    }
    offset += bytesRead;
  }
}
