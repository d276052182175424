import type { DType } from "../../dtype.js";
import type { Signs } from "./dynamic-map.js";
import { isStateFormat, SCALES, scalesSuffix } from "./state-format.js";

/** The names of a stored tensor's codes and scales, and the signs that its format is for. */
export interface Place {
  readonly codes: string;
  readonly scales: string | undefined;
  readonly signs: Signs;
}

/**
 * Finds the scales of a tensor among names: they are beside its slot, under a name that says how they are used.
 * @param path of the parameter that the tensor belongs to, at the end of its name
 */
export function placeOf(
  codes: string,
  path: string | undefined,
  names: Readonly<Record<string, { readonly dtype: DType }>>,
): Place {
  const dtype = names[codes]?.dtype;
  const end = path === undefined ? codes.length : codes.length - path.length - 1;
  for (const [suffix, signs] of Object.entries(SCALES)) {
    const scales = codes.slice(0, end) + suffix + codes.slice(end);
    const isScaled = dtype !== undefined && isStateFormat(dtype) && scalesSuffix(dtype, signs) === suffix;
    if (isScaled && Object.hasOwn(names, scales)) return { codes, scales, signs };
  }
  return { codes, scales: undefined, signs: "both" };
}
