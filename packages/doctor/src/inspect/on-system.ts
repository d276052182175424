import { MpError } from "@mp/core";

/** Returns the result of `read`. @throws MP_IO for a system error, naming `subject` */
export function onSystem<T>(path: string, read: () => T, subject: string = path): T {
  try {
    return read();
  } catch (cause) {
    if (MpError.is(cause)) throw cause;
    const { code = "" } = cause as NodeJS.ErrnoException;
    throw new MpError("MP_IO", `cannot read ${subject}: ${code}`, { cause, details: { path, errno: code } });
  }
}
