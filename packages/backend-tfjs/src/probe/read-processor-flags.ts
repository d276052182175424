import { readFileSync } from "node:fs";

/** The processor's feature flags; empty if the system does not report them. */
export function processorFlags(): string {
  try {
    const lines = readFileSync("/proc/cpuinfo", "utf8").split("\n");
    return lines.find((line) => /^(flags|Features)\b/.test(line)) ?? "";
  } catch {
    return "";
  }
}
