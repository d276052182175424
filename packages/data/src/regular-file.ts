import { createReadStream, type Stats } from "node:fs";
import { open, stat } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { MpError } from "@mp/core";
import { fileRemedy } from "@mp/graph/internal";
import { fileError, ioError } from "./errors.js";

/**
 * The size of a file in bytes, read before it is opened. Pipes, which may never end, and devices are refused.
 * @throws MP_IO for a missing or unreadable file, or one that is not regular
 */
export async function sizeOfFile(path: string): Promise<number> {
  const found = await stat(path).catch((error: unknown) => {
    throw asMpError(path, error);
  });
  if (found.isFile()) return found.size;
  const kind = found.isDirectory() ? "a directory" : "a pipe, socket or device";
  throw ioError(path, `cannot be read, ${kind} and no regular file; name a file`, {
    reason: found.isDirectory() ? "EISDIR" : "ENOTREG",
  });
}

/** Looks up a file or folder; undefined if there is nothing at the path that can be looked up. */
export const statIfThere = (path: string): Promise<Stats | undefined> => stat(path).catch(() => undefined);

/** @throws MP_IO for a file that cannot be read, MP_PARSE for one that ends before `end` */
export async function readRange(path: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(end - start);
  try {
    const file = await open(path, "r");
    try {
      for (let filled = 0; filled < bytes.length; ) {
        const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, start + filled);
        if (bytesRead === 0) throw fileError(path, `ends before byte ${end}; download it again`);
        filled += bytesRead;
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    throw asMpError(path, error);
  }
  return bytes;
}

/** Whether the first bytes are those of gzip. */
export const isGzipped = ([first, second]: Uint8Array): boolean => first === 0x1f && second === 0x8b;

/**
 * Streams the bytes of a file, unpacked if it is gzipped.
 * @throws MP_IO for a file that cannot be read, MP_PARSE for an invalid gzip file
 */
export async function* streamFile(
  path: string,
  isGzip: boolean,
  start = 0,
): AsyncGenerator<Buffer, undefined> {
  const source = createReadStream(path, { start });
  // Errors reach the reader of the last stream, which pipeline destroys with them.
  const stream = isGzip ? pipeline(source, createGunzip(), () => {}) : source;
  try {
    for await (const chunk of stream) yield chunk as Buffer;
  } catch (error) {
    throw asMpError(path, error);
  } finally {
    source.destroy();
  }
}

/** Turns file-system errors into MP_IO and decompression errors into MP_PARSE; returns others unchanged. */
export function asMpError(path: string, error: unknown): unknown {
  if (MpError.is(error) || !(error instanceof Error)) return error;
  const { code: given, message } = error as NodeJS.ErrnoException;
  // Codes of other libraries may be numbers.
  const code = typeof given === "string" ? given : "";
  if (code.startsWith("Z_") || code === "ERR_BUFFER_TOO_LARGE") {
    const text = `${path}: not a valid gzip file, ${message}; unpack it with gunzip or download it again`;
    return new MpError("MP_PARSE", text, { details: { path, reason: code }, cause: error });
  }
  if (code === "") return error;
  return ioError(
    path,
    `cannot be read, ${code === "ENOENT" ? "there is nothing" : code}; ${fileRemedy(error)}`,
    { reason: code },
    error,
  );
}
