import { readFileSync } from "node:fs";
import type { OpenVinoLibrary } from "./library.js";

const described = new WeakMap<OpenVinoLibrary, string>();

/** Describes the processor as the library and the system see it; compiled models and findings hold only for it. */
export function describeProcessor(library: OpenVinoLibrary, core: bigint): string {
  const known = described.get(library);
  if (known !== undefined) return known;
  const { functions, check } = library;
  const asked = ["FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES"].map((property) => {
    const out: [string | null] = [null];
    check(functions.ov_core_get_property(core, "CPU", property, out), property);
    return out[0] ?? "";
  });
  const description = [process.platform, process.arch, ...asked, systemFlags()].join("\n");
  described.set(library, description);
  return description;
}

/** The processor's feature flags; empty if the system does not report them. */
function systemFlags(): string {
  try {
    const lines = readFileSync("/proc/cpuinfo", "utf8").split("\n");
    return lines.find((line) => /^(flags|Features)\b/.test(line)) ?? "";
  } catch {
    return "";
  }
}
