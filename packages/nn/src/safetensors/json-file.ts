import { readFile, stat } from "node:fs/promises";
import { MpError } from "@mp/core";

export type Fields = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Largest size, in bytes, of an index or a configuration; indexes of the largest models have about 100 kB. */
const MOST_BYTES = 64 * 2 ** 20;

/** The remedy for a truncated or damaged file. */
export const AGAIN = "download it again, or write it again with what made it";

/** Runs a read from disk and turns system errors into MP_IO. */
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

/** Reads a text of at most 64 MiB. @throws MP_IO, also for a pipe or a device; MP_PARSE for a larger file */
export const readText = (what: string, path: string): Promise<string> =>
  reading(what, path, async () => {
    const found = await stat(path);
    if (!found.isFile()) throw Object.assign(new Error("no regular file"), { code: "ENOTREG" });
    if (found.size > MOST_BYTES) throw unusable(what, path, `has ${found.size} bytes`);
    return await readFile(path, "utf8");
  });

/** Reads an object from a JSON file. @throws MP_IO and MP_PARSE, as `readText` */
export async function readJson(what: string, path: string): Promise<Fields> {
  const text = await readText(what, path);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw unusable(what, path, "is not JSON", cause);
  }
  if (isRecord(parsed)) return parsed;
  throw unusable(what, path, "is not a JSON object");
}

const unusable = (what: string, path: string, problem: string, cause?: unknown): MpError =>
  new MpError("MP_PARSE", `${what}: ${path} ${problem}; ${AGAIN}`, { cause, details: { path } });
