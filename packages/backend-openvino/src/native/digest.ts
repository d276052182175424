import { createHash } from "node:crypto";

/** SHA-256 of each part with its length, so that no two lists of parts are the same. */
export function digest(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length} `).update(part);
  return hash.digest("hex");
}
