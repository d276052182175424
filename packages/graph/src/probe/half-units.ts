import type { HalfDType } from "../dtype.js";

/**
 * The processor flags of the units that matrix products use. Without them a bf16 product is slower than an f32 one, and
 * an f16 product accumulates block by block in the half itself.
 */
const FLAGS: Readonly<Record<HalfDType, RegExp>> = {
  bf16: /\b(avx512_bf16|amx_bf16|bf16)\b/,
  f16: /\b(avx512_fp16|amx_fp16)\b/,
};

/**
 * The halves that this device multiplies matrices of in hardware.
 * @param processor the flags as the system reports them, such as the line `flags` of Linux's /proc/cpuinfo; where it
 * reports none, `""`, none are assumed
 */
export function halfUnits(device: "cpu" | "cuda", processor: string): readonly HalfDType[] {
  return (["bf16", "f16"] as const).filter((half) => device === "cuda" || FLAGS[half].test(processor));
}
