import { MpError } from "@mp/core";

/** What a call was refused with, thrown or rejected; anything but an `MpError` fails the test. */
export async function refusal(call: () => unknown): Promise<MpError> {
  try {
    await call();
  } catch (error) {
    if (MpError.is(error)) return error;
    throw new Error(`expected an MpError, got ${String(error)}`, { cause: error });
  }
  throw new Error("expected an MpError, nothing was refused");
}
