/** Checks for numbers in a config.json, in addition to those of `@mp/nn`. */
import { checks } from "@mp/graph/internal";

/** A number of positions. Positions are i32. */
export const positionCount: checks.Check = checks.integer(1, 2 ** 31 - 1);

/** A number of layers. A larger one would fill the memory before any weights are loaded. */
export const depth: checks.Check = checks.integer(1, 2 ** 12);

export const nonNegative: checks.Check = checks.claim(
  "a number ≥ 0",
  (value) => typeof value === "number" && value >= 0 && Number.isFinite(value),
);
