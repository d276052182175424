import { MpError } from "@mp/core";

/** @throws MP_INVALID_ARGUMENT for a size that no tensor has, naming it */
export function checkSizes(layer: string, sizes: Readonly<Record<string, number>>): void {
  for (const [name, size] of Object.entries(sizes)) {
    if (Number.isSafeInteger(size) && size >= 1) continue;
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `${layer}: ${name} is an integer of 1 or more, got ${typeof size === "string" ? JSON.stringify(size) : size}`,
    );
  }
}
