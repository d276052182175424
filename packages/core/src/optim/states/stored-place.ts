import { type DType, elementCount, type Shape, sameShape } from "@mp/graph";
import type { Signs } from "./dynamic-map.js";
import { formatScales, isStateFormat } from "./state-format.js";

/** Names of a stored tensor's codes and scales, the bounds of the scales, and the signs of the values. */
export interface Place {
  readonly codes: string;
  readonly scales: string | undefined;
  readonly bounds?: readonly [smallest: number, largest: number];
  readonly signs: Signs;
}

/**
 * Finds the scales of a stored tensor by name: in a slot next to the tensor's, with the suffix and type that the
 * format prescribes.
 * @param path of the parameter that the tensor belongs to, at the end of the tensor's name
 */
export function findPlace(
  codes: string,
  path: string | undefined,
  types: Readonly<Record<string, { readonly dtype: DType; readonly shape: Shape }>>,
): Place {
  const { dtype, shape } = types[codes] ?? {};
  const own = dtype !== undefined && isStateFormat(dtype) ? formatScales(dtype) : undefined;
  const end = path === undefined ? codes.length : codes.length - path.length - 1;
  const none: Place = { codes, scales: undefined, signs: "both" };
  if (own === undefined || shape === undefined) return none;
  for (const signs of ["both", "nonNegative"] as const) {
    const scales = codes.slice(0, end) + own.suffix[signs] + codes.slice(end);
    const found = Object.hasOwn(types, scales) ? types[scales] : undefined;
    if (found?.dtype === "f32" && sameShape(found.shape, own.shapeOf(elementCount(shape, "states"))))
      return { codes, scales, bounds: own.bounds, signs };
  }
  return none;
}
