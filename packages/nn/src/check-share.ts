import { MpError } from "@mp/core";
import { shown } from "@mp/core/internal";

/** Both ends are allowed. @throws MP_INVALID_ARGUMENT naming the layer or loss, the option and its value */
export function checkShare(layer: string, name: string, given: unknown): void {
  if (typeof given === "number" && given >= 0 && given <= 1) return;
  throw new MpError("MP_INVALID_ARGUMENT", `${layer}: ${name} is a number from 0 to 1, got ${shown(given)}`);
}
