import type { HalfDType } from "@mp/graph";

export const HALVES: readonly HalfDType[] = ["f16", "bf16"];

/** The halves that the engine does not compute in natively: they are carried in f32. */
export function emulatedHalves(native: readonly HalfDType[]): readonly HalfDType[] {
  return HALVES.filter((half) => !native.includes(half));
}
