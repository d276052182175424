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
  writeFileSync(temporary, `${JSON.stringify(result, null, 1)}\n`);
  renameSync(temporary, path);
  return path;
}
