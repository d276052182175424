import { readFile } from "node:fs/promises";
import { MpError } from "@mp/core";

export type Fields = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The remedy for a file that was cut short or damaged. */
export const AGAIN = "download it again, or write it again with what made it";

/** Reads from the disk, whose refusals get a code. @throws MP_IO */
export async function reading<T>(what: string, path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (MpError.is(cause)) throw cause;
    const { code = "" } = cause as NodeJS.ErrnoException;
    throw new MpError(
      "MP_IO",
      `${what}: cannot read ${path}: ${code}; check the path, or download the file`,
      { cause, details: { path, errno: code } },
    );
  }
}

/** The value in the text of a file. @throws MP_PARSE */
export function parsedJson(what: string, path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new MpError("MP_PARSE", `${what}: ${path} is not JSON; ${AGAIN}`, { cause, details: { path } });
  }
}

/** The object in a file. @throws MP_IO, MP_PARSE */
export async function readJson(what: string, path: string): Promise<Fields> {
  const parsed = parsedJson(what, path, await reading(what, path, () => readFile(path, "utf8")));
  if (isRecord(parsed)) return parsed;
  throw new MpError("MP_PARSE", `${what}: ${path} is no object of JSON; ${AGAIN}`, { details: { path } });
}
