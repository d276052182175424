// Names of temporary files, which are beside their target, because rename is atomic only within a file system. They
// contain the id of the process that writes them, so that a later save recognizes those of a dead process.
import { createHash, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { errorNumber } from "./file-system.js";

/** Identifies this machine: a directory may be shared, and process ids are valid on one machine only. */
const host = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);
const pattern = /^([0-9a-f]{8})-(\d{1,9})-([0-9a-z]+)-[0-9a-f]{12}\.tmp$/;

/** Longest part of the target's name in a temporary name, in bytes, which stays far below the limit of 255. */
const LONGEST_LABEL = 64;

/** The target's name, or the beginning of a long name and a hash. */
function temporaryLabel(fileName: string): string {
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
  return `.${temporaryLabel(fileName)}.${host}-${process.pid}-${created}-${randomBytes(6).toString("hex")}.tmp`;
}

/** Whether `candidate` is a temporary file of `fileName`, made by a process of this machine that no longer runs. */
export function isStale(candidate: string, fileName: string): boolean {
  const label = temporaryLabel(fileName);
  if (!candidate.startsWith(`.${label}.`)) return false;
  const match = pattern.exec(candidate.slice(label.length + 2));
  if (match === null || match[1] !== host) return false;
  const pid = Number(match[2]);
  // A restarted container may give its process the same id: then a file older than this process is stale. The minute
  // allows for clock changes.
  if (pid === process.pid) {
    return Number.parseInt(match[3] ?? "", 36) < Date.now() - process.uptime() * 1000 - 60_000;
  }
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return errorNumber(error) === "ESRCH";
  }
}
