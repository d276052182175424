import type { HalfDType } from "@mp/core";

const HALVES: readonly HalfDType[] = ["f16", "bf16"];

/** The halves that are not among those the engine computes in: they are carried in f32. */
export function emulatedAmong(native: readonly HalfDType[]): readonly HalfDType[] {
  return HALVES.filter((half) => !native.includes(half));
}
