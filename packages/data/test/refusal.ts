import { MpError } from "@mp/core";

/** The error that a call threw or rejected with; anything but an `MpError` fails the test. */
export async function refusal(call: () => unknown): Promise<MpError> {
  try {
    await call();
  } catch (error) {
    if (MpError.is(error)) return error;
    throw new Error(`expected an MpError, got ${String(error)}`, { cause: error });
  }
  throw new Error("expected an MpError, nothing was refused");
}
