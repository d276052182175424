import { MpError } from "@mp/core";
import { shown } from "@mp/core/internal";

/** @throws MP_INVALID_ARGUMENT for an initializer that is not a function, naming the option */
export function checkInitializers(layer: string, initializers: Readonly<Record<string, unknown>>): void {
  for (const [name, given] of Object.entries(initializers)) {
    if (given === undefined || typeof given === "function") continue;
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `${layer}: ${name} takes an initialiser such as heNormal or constantValue(0), got ${shown(given)}`,
    );
  }
}
