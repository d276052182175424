import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { deserialize, serialize } from "node:v8";
import { digest } from "../native/digest.js";

/** A value that one process leaves for later processes. `of` identifies the circumstances for which the value holds. */
interface Kept {
  readonly of: string;
  readonly value: unknown;
}

/** Number of hexadecimal digits of the digest at the start of a file. */
const DIGITS = 64;

/** Reads a kept value; undefined if the file is missing or damaged, or its value holds for other circumstances. */
export function readValue(path: string, of: string): unknown {
  try {
    const file = readFileSync(path);
    const bytes = file.subarray(DIGITS);
    if (file.toString("latin1", 0, DIGITS) !== digest(bytes)) return undefined;
    const kept = deserialize(bytes) as Kept;
    return kept.of === of ? kept.value : undefined;
  } catch {
    return undefined;
  }
}

/** Writes a value by one rename. If the folder cannot be written, keeps nothing and does not throw. */
export function keepValue(path: string, of: string, value: unknown): void {
  const bytes = serialize({ of, value } satisfies Kept);
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(temporary, Buffer.concat([Buffer.from(digest(bytes)), bytes]));
    renameSync(temporary, path);
  } catch {
    removeQuietly(temporary);
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Nothing was written there.
  }
}
