/** Makes the errors of layers and models. */
import { MpError } from "@mp/core";

type Details = Readonly<Record<string, unknown>>;

export const invalid = (
  message: string,
  details: Details = {},
  cause?: unknown,
): MpError<"MP_INVALID_ARGUMENT"> => new MpError("MP_INVALID_ARGUMENT", message, { details, cause });

export const mismatch = (message: string, details: Details = {}): MpError<"MP_SHAPE_MISMATCH"> =>
  new MpError("MP_SHAPE_MISMATCH", message, { details });
