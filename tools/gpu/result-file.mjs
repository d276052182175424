/** The file of results, written after every job, and read again by `--resume`. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";

/** @typedef {import("./measure.mjs").Result} Result */

/**
 * Writes a temporary file next to `path` and renames it, so that a killed process leaves the last complete file.
 * @param {string} path
 * @param {string} text
 */
export function replaceFile(path, text) {
  writeFileSync(`${path}.tmp`, text);
  renameSync(`${path}.tmp`, path);
}

/**
 * @param {string} path
 * @returns {Result}
 * @throws Error if it is no file of results
 */
export function readResult(path) {
  const result = parseJson(readFileSync(path, "utf8"));
  const isResult = typeof result?.jobs === "object" && result.jobs !== null;
  if (!isResult) throw new Error(`${path} is no result of run.sh, or was cut short`);
  return result;
}

/** @param {string} text */
function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
