import { type ErrorCode, MpError } from "@mp/graph";

/** PJRT_Error_Code for a lack of memory; PJRT's codes equal those of absl::StatusCode. */
const RESOURCE_EXHAUSTED = 8;
const CODES: Readonly<Record<number, ErrorCode>> = {
  [RESOURCE_EXHAUSTED]: "MP_OUT_OF_MEMORY",
  // An operation, a type or a function of the interface is not implemented.
  12: "MP_UNSUPPORTED",
};

/**
 * Makes an MpError from a plugin's failure. Invalid arguments are not the user's error; graphs have been checked.
 * @param status the failure's PJRT_Error_Code
 */
export function pluginFailure(what: string, status: number, said: string): MpError {
  // Errors that pass through several layers keep their text and lose their code.
  const isMemory = /RESOURCE_EXHAUSTED|out of memory/i.test(said);
  const code = CODES[isMemory ? RESOURCE_EXHAUSTED : status] ?? "MP_BACKEND_FAILED";
  return new MpError(code, `XLA: ${what}: ${essence(said) || `status ${status}`}`, {
    details: { status, said: said.slice(0, 4000) },
  });
}

const LONGEST = 400;

/** The first line of a message, without the stack trace that may follow. */
const essence = (said: string): string => said.split("\n", 1)[0]?.trim().slice(0, LONGEST) ?? "";

/** @param file the plugin's library */
export function unavailable(file: string, problem: string, remedy: string, cause?: unknown): MpError {
  return new MpError("MP_BACKEND_UNAVAILABLE", `XLA: ${file} ${problem}; ${remedy}`, {
    details: { file },
    ...(cause === undefined ? {} : { cause }),
  });
}
