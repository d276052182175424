/** Assertions of the cases, independent of a test runner. Messages say what was returned and what was expected. */
import { type ErrorCode, MpError } from "@mp/graph";

/** Thrown by a case if the backend is wrong. Any other error is the backend's own. */
export class ConformanceFailure extends Error {
  override readonly name = "ConformanceFailure";
}

export function fail(message: string): never {
  throw new ConformanceFailure(message);
}

export function expectThat(holds: boolean, message: string | (() => string)): asserts holds {
  if (!holds) fail(typeof message === "string" ? message : message());
}

/** Compares by `Object.is`, or arrays and plain objects as JSON. */
export function expectEqual(got: unknown, want: unknown, what: string): void {
  if (Object.is(got, want)) return;
  const [a, b] = [show(got), show(want)];
  if (typeof got === "object" && typeof want === "object" && a === b) return;
  fail(`${what} is ${a}, want ${b}`);
}

/** JSON in which -0, NaN, infinities, bigints and typed arrays remain distinguishable. */
export function show(value: unknown): string {
  const text = JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === "number" && (!Number.isFinite(part) || Object.is(part, -0))) {
      return Object.is(part, -0) ? "-0" : String(part);
    }
    if (typeof part === "bigint") return `${part}n`;
    if (ArrayBuffer.isView(part) && !(part instanceof DataView)) return Array.from(part as Float32Array);
    return part;
  });
  return text ?? String(value);
}

/** Checks that a call throws or rejects with one of the codes. Returns the error, for checks of its message. */
export async function expectCode(
  codes: ErrorCode | readonly ErrorCode[],
  what: string,
  call: () => unknown,
): Promise<MpError> {
  const wanted = typeof codes === "string" ? [codes] : codes;
  let result: unknown;
  try {
    result = await call();
  } catch (error) {
    if (MpError.is(error) && wanted.includes(error.code)) return error;
    // The backend does not support an earlier step, which is not what the case tests.
    if (MpError.is(error, "MP_UNSUPPORTED")) throw error;
    const got = MpError.is(error) ? `${error.code} (${error.message})` : String(error);
    return fail(`${what} fails with ${got}, want ${wanted.join(" or ")}`);
  }
  return fail(`${what} succeeds (${typeof result}), want ${wanted.join(" or ")}`);
}

/** Whether a run fails, as engines that check indices may. @throws if it fails without a code */
export async function fails(call: Promise<unknown>, what = "an index outside its axis"): Promise<boolean> {
  try {
    await call;
    return false;
  } catch (error) {
    const coded = MpError.is(error, "MP_OUT_OF_RANGE") || MpError.is(error, "MP_BACKEND_FAILED");
    expectThat(coded, `${what} fails with ${String(error)}, want MP_OUT_OF_RANGE or MP_BACKEND_FAILED`);
    return true;
  }
}
