import { MpError } from "../errors.js";

/** @throws MP_INVALID_ARGUMENT for options that were left out, with an example of them */
export function checkOptions(what: string, options: unknown, example: string): void {
  if (typeof options === "object" && options !== null) return;
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `${what}: takes options such as ${example}, got ${String(options)}`,
  );
}
