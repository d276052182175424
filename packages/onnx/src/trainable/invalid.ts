import { MpError } from "@mp/graph";

/** @throws MP_INVALID_ARGUMENT */
export function invalid(message: string, details: Readonly<Record<string, unknown>> = {}): never {
  throw new MpError("MP_INVALID_ARGUMENT", `fromOnnx: ${message}`, { details });
}
