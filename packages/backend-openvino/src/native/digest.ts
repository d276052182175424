import { createHash } from "node:crypto";

/** SHA-256 of the parts, each after its length, so that different lists are hashed as different bytes. */
export function digest(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length} `).update(part);
  return hash.digest("hex");
}
