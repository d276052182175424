import { existsSync, readFileSync, writeFileSync } from "node:fs";

/** Linux resets a process's peak memory when 5 is written to the first file, and reports it in the second. */
const RESET = "/proc/self/clear_refs";
const STATUS = "/proc/self/status";

/**
 * Collects garbage, if the process was started with `--expose-gc`, and resets the peak. Outside of Linux the peak
 * cannot be reset and counts from the process's start.
 */
export function startPeak(): void {
  (globalThis as { readonly gc?: () => void }).gc?.();
  if (existsSync(RESET)) writeFileSync(RESET, "5");
}

/** Peak of the resident memory since `startPeak`, in bytes. */
export function residentPeak(): number {
  if (!existsSync(RESET)) return process.resourceUsage().maxRSS * 1024;
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(STATUS, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}
