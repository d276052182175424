import { stat } from "node:fs/promises";
import { MpError } from "@mp/core";
import { ioError } from "./errors.js";

/**
 * The size in bytes of what a reader is about to open. A pipe would be waited for without end, and a device read
 * without one: both are refused unopened.
 * @throws MP_IO for what is not there, cannot be looked at or is no regular file
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

/** The file's own failures as MP_IO, the unpacker's as MP_PARSE; others as they are. */
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
