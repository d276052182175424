// Names of files that are being written. They are beside their target, because rename is atomic only within a file
// system. They name the process that writes them, so that a later save recognizes files of a dead process.
import { createHash, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { errnoOf } from "./file-system.js";

/** Directories may be shared between machines, and process ids are only valid on their own machine. */
const host = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);
const pattern = /^([0-9a-f]{8})-(\d{1,9})-([0-9a-z]+)-[0-9a-f]{12}\.tmp$/;

/** Bytes of a file's name that its temporaries repeat; including the rest of the name, far below the limit of 255. */
const LONGEST_LABEL = 64;

/** The name, or for a long name its beginning and a hash of all of it. */
function labelOf(fileName: string): string {
  if (Buffer.byteLength(fileName) <= LONGEST_LABEL) return fileName;
  let start = "";
  for (const character of fileName) {
    if (Buffer.byteLength(start + character) > LONGEST_LABEL) break;
    start += character;
  }
  return `${start}~${createHash("sha256").update(fileName).digest("hex").slice(0, 16)}`;
}

export function temporaryName(fileName: string): string {
  const created = Date.now().toString(36);
  return `.${labelOf(fileName)}.${host}-${process.pid}-${created}-${randomBytes(6).toString("hex")}.tmp`;
}

/** True when the process of this machine that made the temporary file for that target no longer runs. */
export function isStale(candidate: string, fileName: string): boolean {
  const label = labelOf(fileName);
  if (!candidate.startsWith(`.${label}.`)) return false;
  const match = pattern.exec(candidate.slice(label.length + 2));
  if (match === null || match[1] !== host) return false;
  const pid = Number(match[2]);
  // A container restarts its process with the same id; then a file older than this process is stale. The minute is a
  // tolerance for clock changes.
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
