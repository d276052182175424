/** Checks of numbers in a config.json. */
import { checks } from "@mp/core/internal";

export const positive: checks.Check = checks.claim(
  "a number above 0",
  (value) => typeof value === "number" && value > 0 && Number.isFinite(value),
);

/** A share of what dropout zeroes. */
export const rate: checks.Check = checks.claim(
  "at least 0 and below 1",
  (value) => typeof value === "number" && value >= 0 && value < 1,
);

export const nonNegative: checks.Check = checks.claim(
  "a number ≥ 0",
  (value) => typeof value === "number" && value >= 0 && Number.isFinite(value),
);
