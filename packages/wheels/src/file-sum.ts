import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";

/** SHA-256 of a file, in hexadecimal. */
export const sha256Of = (path: string): Promise<string> => hashFile(path, createHash("sha256"));

/** Adds a file to a hash, which may already cover other data, and returns the digest in hexadecimal. */
export async function hashFile(path: string, hash: Hash): Promise<string> {
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
