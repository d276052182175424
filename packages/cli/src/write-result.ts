import { renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { Comparison, RunResult } from "./result.js";

/**
 * Writes the result of a run as JSON, whole or not at all. JSON has no words for numbers that are not finite:
 * a loss that diverged is written as `"NaN"`, `"Infinity"` or `"-Infinity"`, not as null.
 */
export function writeResult(path: string, result: RunResult | Comparison): void {
  // /dev/stdout and pipes take what is written to them; a rename would put a file in their place.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
    writeFileSync(path, `${formatJson(result)}\n`);
    return;
  }
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, `${formatJson(result)}\n`);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** One line a field, so that thousands of losses take one line. */
function formatJson(result: RunResult | Comparison, indent = ""): string {
  const lines = Object.entries(result).map(([key, value]: [string, unknown]) => {
    const isRun = key === "float32" || key === "mixed";
    const text = isRun
      ? formatJson(value as RunResult, `${indent}  `)
      : JSON.stringify(value, spellNonFinite);
    return `${indent}  ${JSON.stringify(key)}: ${text}`;
  });
  return `{\n${lines.join(",\n")}\n${indent}}`;
}

function spellNonFinite(_key: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}
