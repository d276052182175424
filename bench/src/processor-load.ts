/** Measures the CPU load of other processes, because a timing under such load says nothing. */
import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { toDecimals } from "./statistics.js";

/** Load of other processes, in cores, above which a figure is marked and measured again. */
const BUSY_CORES = 0.15;

/** Linux counts in hundredths of a second, whatever the kernel's own clock rate. */
const TICKS_PER_SECOND = 100;
const SAMPLE_MS = 500;

/** Busy seconds of all processors since boot, from the text of /proc/stat. */
export function busySeconds(stat: string): number {
  const [user = 0, nice = 0, system = 0, , , interrupt = 0, softInterrupt = 0, steal = 0] = (
    stat.split("\n")[0] ?? ""
  )
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + interrupt + softInterrupt + steal) / TICKS_PER_SECOND;
}

function readBusySeconds(): number | undefined {
  try {
    return busySeconds(readFileSync("/proc/stat", "utf8"));
  } catch {
    return undefined;
  }
}

/**
 * Starts watching; the returned function gives the cores that other processes used since then, to two decimals; null
 * where the system does not report it.
 */
export function watchOthers(): () => number | null {
  const startedAt = performance.now();
  const busy = readBusySeconds();
  const own = process.cpuUsage();
  return () => {
    const now = readBusySeconds();
    if (busy === undefined || now === undefined) return null;
    const used = process.cpuUsage(own);
    const others = now - busy - (used.user + used.system) / 1e6;
    return toDecimals(Math.max(0, others) / ((performance.now() - startedAt) / 1000), 2);
  };
}

/** Whether other processes disturbed a measurement, by their load during it or, if that is unknown, before it. */
export function isDisturbedBy(otherCores: number | null, wasIdle: boolean): boolean {
  return otherCores === null ? !wasIdle : otherCores > BUSY_CORES;
}

/** Resolves to true once the machine is idle or if its load is unknown, or to false after the limit. */
export async function idleMachine(limitSeconds: number): Promise<boolean> {
  const end = performance.now() + limitSeconds * 1000;
  for (;;) {
    const others = watchOthers();
    await wait(SAMPLE_MS);
    const cores = others();
    if (cores === null || cores < BUSY_CORES) return true;
    if (performance.now() > end) return false;
  }
}
