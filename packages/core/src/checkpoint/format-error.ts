import { type ErrorCode, MpError } from "@mp/graph";
import { SafetensorsError, type SafetensorsErrorCode } from "@mp/safetensors";

const codes: Readonly<Record<SafetensorsErrorCode, ErrorCode>> = {
  SAFETENSORS_INVALID_ARGUMENT: "MP_INVALID_ARGUMENT",
  SAFETENSORS_PARSE: "MP_PARSE",
  SAFETENSORS_UNSUPPORTED: "MP_UNSUPPORTED",
  SAFETENSORS_OUT_OF_MEMORY: "MP_OUT_OF_MEMORY",
  SAFETENSORS_IO: "MP_IO",
};

/** Converts an error of `@mp/safetensors` to an MpError; returns any other error unchanged. */
export function asMpError(error: unknown): unknown {
  if (!SafetensorsError.is(error)) return error;
  const { code, message, details, cause = error } = error;
  const remedy = code === "SAFETENSORS_PARSE" ? "; take an earlier file, or copy it again" : "";
  return new MpError(codes[code], message + remedy, { details, cause });
}
