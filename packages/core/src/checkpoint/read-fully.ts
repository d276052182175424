import { refuse } from "../safetensors/problem.js";

/** The part of node's `FileHandle` that reading needs. */
export interface ReadableFile {
  /** May read fewer bytes than asked for; 0 at the end of the file. */
  read(
    into: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
}

/** One system call reads less than 2 GiB. */
const READ_BYTES = 2 ** 30;

/**
 * Fills the buffer from that position of the file.
 * @throws MP_PARSE when the file ends before
 */
export async function readFully(
  file: ReadableFile,
  buffer: ArrayBufferLike,
  position: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let offset = 0; offset < buffer.byteLength; ) {
    signal?.throwIfAborted();
    const piece = new Uint8Array(buffer, offset, Math.min(buffer.byteLength - offset, READ_BYTES));
    const { bytesRead } = await file.read(piece, 0, piece.length, position + offset);
    if (bytesRead === 0) {
      refuse("data-missing", `the file shrank to ${position + offset} bytes while it was read`, {
        fileLength: position + offset,
      });
    }
    offset += bytesRead;
  }
}
