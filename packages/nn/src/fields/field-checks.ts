/** Checks of numbers in a config.json. */
import { checks } from "@mp/graph/internal";

/** The size of a tensor or a part of it. More than of any model that is published has no room in a tensor. */
export const extent: checks.Check = checks.integer(1, 2 ** 22);

export const positive: checks.Check = checks.claim(
  "a number above 0",
  (value) => typeof value === "number" && value > 0 && value < 2 ** 64,
);

/** A share of what dropout zeroes. */
export const rate: checks.Check = checks.claim(
  "at least 0 and below 1",
  (value) => typeof value === "number" && value >= 0 && value < 1,
);

export const names: checks.Check = checks.listOf("names", (value) => typeof value === "string");

/** The option of fields that are not known here. */
export const ignoreOption: { readonly accepts: checks.Check; readonly default: readonly string[] } = {
  accepts: names,
  default: [],
};
