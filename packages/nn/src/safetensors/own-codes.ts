import { MpError } from "@mp/core";
import { SafetensorsError, type SafetensorsErrorCode } from "@mp/safetensors";
import { AGAIN } from "./json-file.js";

const CODES = {
  SAFETENSORS_INVALID_ARGUMENT: "MP_INVALID_ARGUMENT",
  SAFETENSORS_PARSE: "MP_PARSE",
  SAFETENSORS_UNSUPPORTED: "MP_UNSUPPORTED",
  SAFETENSORS_OUT_OF_MEMORY: "MP_OUT_OF_MEMORY",
  SAFETENSORS_IO: "MP_IO",
} as const satisfies Readonly<Record<SafetensorsErrorCode, string>>;

const REMEDIES: Readonly<Partial<Record<SafetensorsErrorCode, string>>> = {
  SAFETENSORS_PARSE: `; ${AGAIN}`,
  SAFETENSORS_IO: "; check the path and the rights to it",
};

/** Runs a call of `@mp/safetensors` and turns its errors into `MpError`s. */
export async function inOwnCodes<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!SafetensorsError.is(error)) throw error;
    throw new MpError(CODES[error.code], `${what}: ${error.message}${REMEDIES[error.code] ?? ""}`, {
      cause: error,
      details: error.details,
    });
  }
}
