import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { plainText, plainValue } from "./plain-data.js";

/** A value that one process leaves for later ones. `of` identifies the circumstances that it is valid for. */
interface Kept {
  readonly of: string;
  readonly value: unknown;
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Reads a kept value; undefined if the file is missing or damaged, or the value was found for something else. */
export function readValue(path: string, of: string): unknown {
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

/** Replaces the file by one rename. If the folder cannot be written, it keeps nothing and does not throw. */
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
