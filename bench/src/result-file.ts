import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkloadResult } from "./compare.js";
import type { CompiledWorkload } from "./compile-workload.js";
import type { ScenarioResult } from "./dissect.js";
import type { Machine } from "./machine.js";

/** One run of the command. */
export interface BenchResult {
  /** ISO date and time of the start. */
  readonly date: string;
  readonly command: string;
  readonly machine: Machine;
  readonly workloads?: readonly WorkloadResult[];
  readonly scenarios?: readonly ScenarioResult[];
  /** Steps that were compiled for a GPU and run nowhere. */
  readonly compiled?: readonly CompiledWorkload[];
}

/**
 * Writes `<date>-<name>.json`, completely or not at all, and returns its path. A file with the same name is replaced.
 */
export function writeBenchResult(directory: string, name: string, result: BenchResult): string {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, `${result.date.slice(0, 10)}-${name}.json`);
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, `${formatJson(result)}\n`);
  renameSync(temporary, path);
  return path;
}

/** Formats JSON with indentation; lists of numbers and objects without nesting take one line each. */
export function formatJson(value: unknown, indent = ""): string {
  if (typeof value !== "object" || value === null || isFlat(value)) return JSON.stringify(value);
  const inner = `${indent}  `;
  const entries = Array.isArray(value)
    ? value.map((item) => `${inner}${formatJson(item, inner)}`)
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([key, item]) => `${inner}${JSON.stringify(key)}: ${formatJson(item, inner)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return `${open}\n${entries.join(",\n")}\n${indent}${close}`;
}

function isFlat(value: object): boolean {
  return Object.values(value).every((item) => typeof item !== "object" || item === null);
}
