import { type ErrorCode, MpError } from "@mp/graph";

/** Numbers of PJRT_Error_Code, which are those of absl::StatusCode. */
const RESOURCE_EXHAUSTED = 8;
const CODES: Readonly<Record<number, ErrorCode>> = {
  [RESOURCE_EXHAUSTED]: "MP_OUT_OF_MEMORY",
  // Of an operation, a type or a function of the interface.
  12: "MP_UNSUPPORTED",
};

/**
 * An error of the plugin. What a plugin calls an invalid argument is ours, not the user's: graphs have been checked.
 * @param status its PJRT_Error_Code
 */
export function pluginFailure(what: string, status: number, said: string): MpError {
  // Errors that pass through several layers keep their words and lose their number.
  const isMemory = /RESOURCE_EXHAUSTED|out of memory/i.test(said);
  const code = CODES[isMemory ? RESOURCE_EXHAUSTED : status] ?? "MP_BACKEND_FAILED";
  return new MpError(code, `XLA: ${what}: ${essence(said) || `status ${status}`}`, {
    details: { status, said: said.slice(0, 4000) },
  });
}

const LONGEST = 400;

/** The beginning of a message, without the stack traces that follow in some. */
const essence = (said: string): string => said.split("\n", 1)[0]?.trim().slice(0, LONGEST) ?? "";

/** @param file the plugin's library */
export function unavailable(file: string, problem: string, remedy: string, cause?: unknown): MpError {
  return new MpError("MP_BACKEND_UNAVAILABLE", `XLA: ${file} ${problem}; ${remedy}`, {
    details: { file },
    ...(cause === undefined ? {} : { cause }),
  });
}
