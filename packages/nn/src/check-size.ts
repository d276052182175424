import { MpError, shown } from "@mp/core";

/** @throws MP_INVALID_ARGUMENT for a size that no tensor has, naming it */
export function checkSizes(layer: string, sizes: Readonly<Record<string, number>>): void {
  for (const [name, size] of Object.entries(sizes)) checkIntegers(layer, name, size, 1);
}

/**
 * One integer, or where `axes` are given as many of them as there are axes or one for all.
 * @param axes how many numbers a list may have; none takes no list
 * @throws MP_INVALID_ARGUMENT naming the layer, the option, its value and what would do
 */
export function checkIntegers(
  layer: string,
  name: string,
  given: unknown,
  least: number,
  ...axes: readonly number[]
): void {
  const list = Array.isArray(given) && axes.length > 0 ? given : [given];
  const isLong = !Array.isArray(given) || axes.includes(list.length);
  if (isLong && list.every((number) => Number.isSafeInteger(number) && number >= least)) return;
  const lists = axes.length > 0 ? `, or a list of ${axes.join(" or ")}` : "";
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `${layer}: ${name} is an integer of ${least} or more${lists}, got ${shown(given)}`,
  );
}
