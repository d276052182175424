import type { Comparison, RunResult } from "./result.js";
import { writeWhole } from "./write-whole.js";

/** The result of a command line: a run, two compared runs, or a table and its runs. */
export type Written = RunResult | Comparison | Readonly<Record<string, unknown>>;

/** Writes the result of a run as JSON, completely or not at all. NaN and infinities, which JSON lacks, become text. */
export function writeResult(path: string, result: Written): void {
  writeWhole(path, `${formatJson(result)}\n`);
}

/** Formats one line per field, so that thousands of losses take one line. */
function formatJson(result: Written, indent = ""): string {
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
