/** Checks for numbers in a config.json. */
import { checks } from "@mp/graph/internal";

/** Whether a value of a list is an integer from 1 to `most`. */
export const isInteger = (value: unknown, most: number): boolean =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most;

/** The size of a tensor's axis, up to 2^22: more than any published model has. */
export const extent: checks.Check = checks.integer(1, 2 ** 22);

export const positive: checks.Check = checks.claim(
  "a number above 0",
  (value) => typeof value === "number" && value > 0 && value < 2 ** 64,
);

/** A dropout rate. */
export const rate: checks.Check = checks.claim(
  "at least 0 and below 1",
  (value) => typeof value === "number" && value >= 0 && value < 1,
);

export const names: checks.Check = checks.listOf("names", (value) => typeof value === "string");

/** The option `ignore`: names of unknown fields to accept. */
export const ignoreOption: { readonly accepts: checks.Check; readonly default: readonly string[] } = {
  accepts: names,
  default: [],
};
