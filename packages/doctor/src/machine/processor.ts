import { readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import type { HalfDType } from "@mp/core";
import * as probes from "@mp/core/probe";
import type { Finding } from "./finding.js";

export function systemFinding(): Finding {
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  const glibc = report?.header?.glibcVersionRuntime;
  const facts = { platform: process.platform, arch: process.arch, glibc };
  const isMusl = process.platform === "linux" && glibc === undefined;
  const library = glibc === undefined ? "" : `, glibc ${glibc}`;
  const text = `${process.platform} ${process.arch}${library}${isMusl ? ", without glibc" : ""}`;
  if (!isMusl) return { about: "system", status: "ok", text, facts };
  const remedy = "the engines' libraries need glibc: use an image of Debian or Ubuntu, such as node:22-slim";
  return { about: "system", status: "problem", text, remedy, facts };
}

/** Units of x64 processors that multiply f16 or bf16, by their names in Linux. */
const UNITS = ["avx512_bf16", "amx_bf16", "avx512_fp16", "amx_fp16"];

export function processorFinding(): Finding {
  const flags = processorFlags();
  const halves = flags === undefined ? undefined : probes.halfUnits("cpu", flags);
  const name = cpus()[0]?.model.trim() ?? "unknown";
  const cores = availableParallelism();
  const units = UNITS.filter((unit) => flags?.split(/\s+/).includes(unit));
  const facts = { name, cores, halves, units };
  const text = `${name}, ${cores} ${cores === 1 ? "core" : "cores"}; ${describeHalves(halves)}${units.length === 0 ? "" : ` (${units.join(", ")})`}`;
  return { about: "processor", status: "ok", text, facts };
}

function describeHalves(halves: readonly HalfDType[] | undefined): string {
  if (halves === undefined) return "this system does not say whether it multiplies halves";
  const described = (["bf16", "f16"] as const).map(
    (half) => `${half} ${halves.includes(half) ? "yes" : "no"}`,
  );
  return `units that multiply halves: ${described.join(", ")}`;
}

/** The features of the processor; undefined if the system does not report them. */
function processorFlags(): string | undefined {
  try {
    return readFileSync("/proc/cpuinfo", "utf8")
      .split("\n")
      .find((line) => /^(flags|Features)\b/.test(line));
  } catch {
    return undefined;
  }
}
