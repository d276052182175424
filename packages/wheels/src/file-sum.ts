import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { MpError } from "@mp/graph";

/** SHA-256 of a file, in hexadecimal. */
export const sha256Of = (path: string): Promise<string> => hashFile(path, createHash("sha256"));

/** Adds a file to a hash, which may already cover other data, and returns the digest in hexadecimal. */
export async function hashFile(path: string, hash: Hash): Promise<string> {
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** @throws MP_PARSE if the file's digest is not the wanted one */
export function requireDigest(file: string, actual: string, wanted: string, by: string): void {
  if (actual === wanted) return;
  throw new MpError(
    "MP_PARSE",
    `${basename(file)}: SHA-256 ${wanted} is expected (${by}), got ${actual}; the file is damaged or not the one it is named for: nothing was installed, fetch it again`,
    { details: { file, expected: wanted, actual } },
  );
}
