// Names of files that are being written. They lie beside their target, because rename is atomic within a file
// system only, and say who writes them, so that a later save can tell what a dead process left behind.
import { createHash, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { errnoOf } from "./file-system.js";

/** Directories may be shared between machines, and process ids say nothing about another machine's processes. */
const host = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);
const pattern = /^([0-9a-f]{8})-(\d{1,9})-([0-9a-z]+)-[0-9a-f]{12}\.tmp$/;

export function temporaryName(fileName: string): string {
  const created = Date.now().toString(36);
  return `.${fileName}.${host}-${process.pid}-${created}-${randomBytes(6).toString("hex")}.tmp`;
}

/** True when the process of this machine that made the temporary file for that target no longer runs. */
export function isStale(candidate: string, fileName: string): boolean {
  if (!candidate.startsWith(`.${fileName}.`)) return false;
  const match = pattern.exec(candidate.slice(fileName.length + 2));
  if (match === null || match[1] !== host) return false;
  const pid = Number(match[2]);
  // A container restarts its process under the same id: then a file from before this process began is stale.
  // The minute leaves room for a clock that was set.
  if (pid === process.pid) {
    return Number.parseInt(match[3] ?? "", 36) < Date.now() - process.uptime() * 1000 - 60_000;
  }
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return errnoOf(error) === "ESRCH";
  }
}
