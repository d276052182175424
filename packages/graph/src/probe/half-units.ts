import type { HalfDType } from "../dtype.js";

/**
 * Processor flags that show hardware for matrix products in the dtype. Without such hardware a bf16 product is slower
 * than an f32 product, and an f16 product accumulates block by block in f16 itself.
 */
const FLAGS: Readonly<Record<HalfDType, RegExp>> = {
  bf16: /\b(avx512_bf16|amx_bf16|bf16)\b/,
  f16: /\b(avx512_fp16|amx_fp16)\b/,
};

/**
 * The half dtypes in which the device multiplies matrices in hardware.
 * @param processor the flags as the system reports them, such as the line `flags` of Linux's /proc/cpuinfo; `""` if
 *   the system reports none
 */
export function halfUnits(device: "cpu" | "cuda", processor: string): readonly HalfDType[] {
  return (["bf16", "f16"] as const).filter((half) => device === "cuda" || FLAGS[half].test(processor));
}
