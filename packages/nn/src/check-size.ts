import { MpError } from "@mp/core";
import { shown } from "@mp/core/internal";

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);

/** @throws MP_INVALID_ARGUMENT for an invalid size, naming it */
export function checkSizes(layer: string, sizes: Readonly<Record<string, number>>): void {
  for (const [name, size] of Object.entries(sizes)) checkIntegers(layer, name, size, 1);
}

/**
 * An integer, or a list with one of the given `lengths`; without `lengths`, lists are rejected.
 * @throws MP_INVALID_ARGUMENT naming the layer, the option, its value and the allowed values
 */
export function checkIntegers(
  layer: string,
  name: string,
  given: unknown,
  least: number,
  ...lengths: readonly number[]
): void {
  const isList = Array.isArray(given) && lengths.includes(given.length);
  const numbers: readonly unknown[] = isList ? given : [given];
  if (numbers.every((number) => isInteger(number) && number >= least)) return;
  const lists = lengths.length > 0 ? `, or a list of ${lengths.join(" or ")}` : "";
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `${layer}: ${name} is an integer of ${least} or more${lists}, got ${shown(given)}`,
  );
}
