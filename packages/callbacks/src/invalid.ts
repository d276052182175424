import { MpError } from "@mp/core";

export const invalid = (message: string): MpError<"MP_INVALID_ARGUMENT"> =>
  new MpError("MP_INVALID_ARGUMENT", message);
