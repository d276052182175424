/** Checks of numbers in a config.json, besides those in nn. */
import { checks } from "@mp/graph/internal";

/** A number of positions; positions are i32. */
export const positionCount: checks.Check = checks.integer(1, 2 ** 31 - 1);

/** The number of layers; more would fill the memory before any weights are loaded. */
export const depth: checks.Check = checks.integer(1, 2 ** 12);

export const nonNegative: checks.Check = checks.claim(
  "a number ≥ 0",
  (value) => typeof value === "number" && value >= 0 && Number.isFinite(value),
);
