import { MpError } from "../errors.js";

/**
 * The engine's error for what it cannot load or run; undefined if it can. A lack of memory says nothing about an engine,
 * and neither does an error that is no MpError: they are thrown.
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
