import { type ErrorCode, MpError } from "@mp/graph";

/** Causes that the engine's messages can name; anything else is a failure of the engine itself. */
const CAUSES: readonly (readonly [pattern: RegExp, code: ErrorCode])[] = [
  [/bad_alloc|out of memory|failed to allocate|OUT_OF_MEMORY/i, "MP_OUT_OF_MEMORY"],
  [/out of (data )?bounds|out of range|must be within bounds|invalid ind(ice|ex)/i, "MP_OUT_OF_RANGE"],
  [/ERROR_CODE: 9\b|not implemented|Could not find an implementation/i, "MP_UNSUPPORTED"],
];

/** Translates an error of onnxruntime-web. */
export function engineError(what: string, error: unknown): MpError {
  const message = error instanceof Error ? error.message : String(error);
  const [, code = "MP_BACKEND_FAILED"] = CAUSES.find(([pattern]) => pattern.test(message)) ?? [];
  return new MpError(code, `ortWeb: ${what}: ${message}`, { cause: error });
}
