import { MpError } from "@mp/core";
import { shown } from "@mp/core/internal";

/** @throws MP_INVALID_ARGUMENT for an epsilon that is below 0 or not finite in f32 */
export function checkEpsilon(layer: string, epsilon: unknown): void {
  if (typeof epsilon === "number" && epsilon >= 0 && Number.isFinite(Math.fround(epsilon))) return;
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `${layer}: epsilon is at least 0 and finite, got ${shown(epsilon)}`,
  );
}
