import type { BackendManifest } from "@mp/graph";
import { expectHalf } from "../../cast/plan.js";
import type { Precision, PrecisionChoice } from "../../precision/presets.js";
import { checkPrecision } from "./check-parts.js";

/** The precision itself: one that depends on the engine, such as `mixed()`, is asked for. */
export const chosenPrecision = (choice: PrecisionChoice, manifest: BackendManifest): Precision =>
  typeof choice === "function" ? choice(manifest) : choice;

/**
 * The same, checked.
 * @param owner the subject of messages
 * @throws MP_INVALID_ARGUMENT for what is no precision, MP_UNSUPPORTED for a half that the engine does not have
 */
export function usablePrecision(
  owner: string,
  choice: PrecisionChoice,
  manifest: BackendManifest,
): Precision {
  const precision = chosenPrecision(choice, manifest);
  checkPrecision(owner, precision);
  expectHalf(precision.policy, manifest);
  return precision;
}
