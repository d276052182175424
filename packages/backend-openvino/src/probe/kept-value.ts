import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { plainText, plainValue } from "./plain-data.js";

/** A value that a process left for the next one, with all that it depends on. */
interface Kept {
  readonly of: string;
  readonly value: unknown;
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The value in the file; undefined if there is none, it is damaged, or it was found for something else. */
export function keptValue(path: string, of: string): unknown {
  try {
    const [sum, ...rest] = readFileSync(path, "utf8").split("\n");
    const text = rest.join("\n");
    if (sum !== digest(text)) return undefined;
    const kept = plainValue(text) as Kept;
    return kept.of === of ? kept.value : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces the file by one rename. A folder that cannot be written is no error: then nothing is kept. */
export function keepValue(path: string, of: string, value: unknown): void {
  const text = plainText({ of, value } satisfies Kept);
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(temporary, `${digest(text)}\n${text}`);
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
