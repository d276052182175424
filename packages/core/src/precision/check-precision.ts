import type { BackendManifest } from "@mp/graph";
import {
  type Check,
  checkOptions,
  checks,
  invalid,
  isPlainObject,
  type OptionNames,
  shown,
} from "@mp/graph/internal";
import { expectHalf } from "../cast/plan.js";
import { checkRecipes } from "../quantize/recipes-by-step.js";
import type { Precision, PrecisionChoice } from "./presets.js";

/** Checks that an option is an object with these functions: JavaScript users have no type checks. */
export function partWith(functions: readonly string[], remedy: string): Check {
  return (what, part) => {
    if (
      typeof part === "object" &&
      part !== null &&
      functions.every((each) => typeof part[each as keyof typeof part] === "function")
    )
      return;
    throw invalid(`${what} is ${shown(part)}; ${remedy}`);
  };
}

export const scalerPart: Check = partWith(
  ["init", "scale", "update"],
  "make one: lossScaler: dynamicLossScale()",
);

const PRECISION_PARTS: Readonly<Record<string, Check>> = {
  policy: partWith([], 'make one: policy: castingPolicy({ compute: "f16" })'),
  masterWeights: partWith(["init", "parameters", "apply"], "make one: masterWeights: f32Master()"),
  lossScaler: scalerPart,
  recipe: checks.optional(checkRecipes),
};

const PRECISION_NAMES: OptionNames<Precision> = {
  name: true,
  policy: true,
  masterWeights: true,
  lossScaler: true,
  recipe: true,
  warnings: true,
};

/** @throws MP_INVALID_ARGUMENT for a value that is not a bundle of policy, master weights and loss scaler */
function checkPrecision(owner: string, precision: unknown): void {
  const what = `${owner}: precision`;
  if (!isPlainObject(precision)) {
    throw invalid(
      `${what} is ${shown(precision)}; make one: precision: mixed(), mixedFloat16(), float32() …`,
    );
  }
  checkOptions<Partial<Precision>>(what, precision, PRECISION_NAMES);
  const lacks = Object.keys(PRECISION_NAMES).filter(
    (name) => name !== "warnings" && name !== "recipe" && precision[name] === undefined,
  );
  if (lacks.length > 0) {
    throw invalid(`${what} lacks ${lacks.join(", ")}; mixed() cannot be spread, spread mixedFloat16()`);
  }
  for (const [name, check] of Object.entries(PRECISION_PARTS)) check(`${what}: ${name}`, precision[name]);
}

/** Returns the precision; calls a function such as `mixed()` with the engine's manifest to get it. */
export function pickPrecision(choice: PrecisionChoice, manifest: BackendManifest): Precision {
  if (typeof choice !== "function") return choice;
  // A preset that was not called, such as `float8`, would take the manifest for its options.
  return choice.length > 0 ? choice(manifest) : pickPrecision((choice as () => Precision)(), manifest);
}

/**
 * Chooses the precision and checks it.
 * @param owner the name that messages begin with
 * @throws MP_INVALID_ARGUMENT for a value that is not a precision, MP_UNSUPPORTED for a half dtype that the engine does
 *   not have
 */
export function usablePrecision(
  owner: string,
  choice: PrecisionChoice,
  manifest: BackendManifest,
): Precision {
  const precision = pickPrecision(choice, manifest);
  checkPrecision(owner, precision);
  expectHalf(precision.policy, manifest);
  return precision;
}
