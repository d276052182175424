import type { HalfDType } from "@mp/graph";

export const HALVES: readonly HalfDType[] = ["f16", "bf16"];

/** The half dtypes that the engine does not compute in; their values are held in f32 and rounded. */
export function emulatedHalves(native: readonly HalfDType[]): readonly HalfDType[] {
  return HALVES.filter((half) => !native.includes(half));
}
