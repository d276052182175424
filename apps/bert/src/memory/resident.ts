import { existsSync, readFileSync, writeFileSync } from "node:fs";

/** Files in which Linux reports a process's peak memory, and lets it be reset. */
const RESET = "/proc/self/clear_refs";
const STATUS = "/proc/self/status";

/**
 * Frees what JavaScript no longer uses, if the process was started with `--expose-gc`, and starts a new peak; where that
 * is not possible, the peak stays that since the process's start.
 */
export function startPeak(): void {
  (globalThis as { readonly gc?: () => void }).gc?.();
  if (existsSync(RESET)) writeFileSync(RESET, "5");
}

/** Most bytes of resident memory since `startPeak`. */
export function residentPeak(): number {
  if (!existsSync(RESET)) return process.resourceUsage().maxRSS * 1024;
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(STATUS, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}
