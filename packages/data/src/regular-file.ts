import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { MpError } from "@mp/core";
import { ioError } from "./errors.js";

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
  throw ioError(path, `cannot be read, ${kind} and no regular file`, {
    reason: found.isDirectory() ? "EISDIR" : "ENOTREG",
  });
}

/** Undefined where nothing is at the path. */
export const statIfThere = (path: string): Promise<Stats | undefined> => stat(path).catch(() => undefined);

/** Turns failures of the file into MP_IO and those of unpacking into MP_PARSE; other errors stay. */
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
    `cannot be read, ${code === "ENOENT" ? "no such file" : code}`,
    { reason: code },
    error,
  );
}
