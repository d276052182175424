/** Checks for the options of layers and losses, in addition to the checks that all packages share. */

import { checks, shown } from "@mp/graph/internal";
import { invalid } from "./errors.js";

/** Accepts any value, because tensor options are checked later, together with the other tensors. */
export const anything: checks.Check = () => {};

/** A number that is added to a variance: at least 0 and finite. */
export const epsilon: checks.Check = checks.claim(
  "at least 0 and finite",
  (value) => typeof value === "number" && value >= 0 && Number.isFinite(Math.fround(value)),
);

/** A function that makes initial values. */
export const initializer: checks.Check = (what, value) => {
  if (typeof value === "function") return;
  throw invalid(`${what} takes an initializer such as heNormal or constantValue(0), got ${shown(value)}`);
};

/** Accepts an integer ≥ `least`, or a list of such integers with one of these lengths; without lengths, no list. */
export function integers(least: number, ...lengths: readonly number[]): checks.Check {
  const lists = lengths.length > 0 ? `, or a list of ${lengths.join(" or ")}` : "";
  return checks.claim(`an integer ≥ ${least}${lists}`, (given) => {
    const isList = Array.isArray(given) && lengths.includes(given.length);
    const numbers: readonly unknown[] = isList ? given : [given];
    return numbers.every((number) => Number.isSafeInteger(number) && Number(number) >= least);
  });
}

/** Accepts the ways in which a loss combines its elements: mean, sum or none. */
export const reduction: checks.Check = checks.claim(
  "mean, sum or none",
  (value) => value === "mean" || value === "sum" || value === "none",
);

/** @throws MP_INVALID_ARGUMENT for an invalid size, naming it */
export function checkSizes(layer: string, sizes: Readonly<Record<string, number>>): void {
  for (const [name, size] of Object.entries(sizes)) integers(1)(`${layer}: ${name}`, size);
}
