import { readFileSync } from "node:fs";
import type { HalfDType } from "@mp/core";

/**
 * What processors call the units that TensorFlow's matrix products use. Without them a product of halves is slower
 * than one of f32, in bf16, or sums block by block in the half itself, in f16.
 */
const FLAGS: Readonly<Record<HalfDType, RegExp>> = {
  bf16: /\b(avx512_bf16|amx_bf16|bf16)\b/,
  f16: /\b(avx512_fp16|amx_fp16)\b/,
};

/** The halves that this device multiplies matrices of in hardware. Where the system does not tell, a processor has none. */
export function halfUnits(
  device: "cpu" | "cuda",
  processor: string = describeProcessor(),
): readonly HalfDType[] {
  return (["bf16", "f16"] as const).filter((half) => device === "cuda" || FLAGS[half].test(processor));
}

function describeProcessor(): string {
  try {
    const lines = readFileSync("/proc/cpuinfo", "utf8").split("\n");
    return lines.find((line) => /^(flags|Features)\b/.test(line)) ?? "";
  } catch {
    return "";
  }
}
