/** This package's errors, by their code. */
import { MpError } from "@mp/core";

type Details = Readonly<Record<string, unknown>>;

export const invalid = (message: string, details: Details = {}): MpError<"MP_INVALID_ARGUMENT"> =>
  new MpError("MP_INVALID_ARGUMENT", message, { details });

/** MP_PARSE for invalid content of a file or folder. */
export const fileError = (
  path: string,
  what: string,
  details: Details = {},
  cause?: unknown,
): MpError<"MP_PARSE"> =>
  new MpError("MP_PARSE", `${path}: ${what}`, { details: { path, ...details }, cause });

/** MP_PARSE at a byte or character of a file. */
export const parseError = (path: string, what: string, offset = 0, cause?: unknown): MpError<"MP_PARSE"> =>
  fileError(path, what, { offset }, cause);

/** The message of a value that was thrown. */
export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** MP_IO for a file or folder that cannot be read. */
export const ioError = (
  path: string,
  what: string,
  details: Details = {},
  cause?: unknown,
): MpError<"MP_IO"> => new MpError("MP_IO", `${path}: ${what}`, { details: { path, ...details }, cause });
