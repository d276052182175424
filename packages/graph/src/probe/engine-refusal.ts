import { MpError } from "../errors.js";

/**
 * Makes a call that loads or runs something on an engine. Returns the engine's error if the call fails, else undefined.
 * Errors that say nothing about the engine are rethrown: out-of-memory errors, and errors that are not MpErrors.
 */
export async function refusalOf(call: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    if (MpError.is(error) && error.code !== "MP_OUT_OF_MEMORY") return error.message;
    throw error;
  }
}
