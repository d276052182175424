import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";

/** SHA-256 of a file, in hexadecimal. */
export const sha256Of = (path: string): Promise<string> => hashFile(path, createHash("sha256"));

/** Completes a hash, which may have begun with other data, over a file; in hexadecimal. */
export async function hashFile(path: string, hash: Hash): Promise<string> {
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
