import { MpError } from "@mp/core";

/** @throws MP_INVALID_ARGUMENT for what is no integer of that range, naming it */
export function checkSize(
  what: string,
  sizes: Readonly<Record<string, number>>,
  low: number,
  high: number,
): void {
  for (const [name, size] of Object.entries(sizes)) {
    if (Number.isSafeInteger(size) && size >= low && size <= high) continue;
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `${what}: ${name} is an integer of ${low} to ${high}, got ${size}`,
    );
  }
}

/** @throws MP_INVALID_ARGUMENT outside 0 … 1 */
export function checkDifficulty(what: string, difficulty: number): void {
  if (difficulty >= 0 && difficulty <= 1) return;
  throw new MpError("MP_INVALID_ARGUMENT", `${what}: difficulty is 0 to 1, got ${difficulty}`);
}
