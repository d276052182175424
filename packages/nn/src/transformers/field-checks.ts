/** Checks of numbers in a config.json. */
import { checks } from "@mp/core/internal";

export const positive: checks.Check = checks.claim(
  "a number above 0",
  (value) => typeof value === "number" && value > 0 && Number.isFinite(value),
);

export const nonNegative: checks.Check = checks.claim(
  "a number ≥ 0",
  (value) => typeof value === "number" && value >= 0 && Number.isFinite(value),
);
