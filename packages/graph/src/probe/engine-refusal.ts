import { MpError } from "../errors.js";

/**
 * Returns the engine's error if it cannot load or run something; undefined if it can. Errors that say nothing about
 * the engine are rethrown: those for a lack of memory, and errors that are not MpErrors.
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
