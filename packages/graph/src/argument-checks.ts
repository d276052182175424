/** Checks of arguments. The messages of all functions have one form: `what must be …, got …`. */
import { invalid } from "./errors.js";
import { shown } from "./shown.js";

/** Throws if the value is not allowed. `what` is the subject of the message, such as `imageBatches: batch`. */
export type Check = (what: string, value: unknown) => void;

/** Makes a check that throws MP_INVALID_ARGUMENT if `accepts` is false; `allowed` follows `must be` in the message. */
export function claim(allowed: string, accepts: (value: unknown) => boolean): Check {
  return (what, value) => {
    if (accepts(value)) return;
    throw invalid(`${what} must be ${allowed}, got ${shown(value)}`);
  };
}

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);

/** Makes a check for an integer from `low` to `high`; by default any integer that a double holds exactly. */
export function integer(
  low: number = Number.MIN_SAFE_INTEGER,
  high: number = Number.MAX_SAFE_INTEGER,
): Check {
  return claim(
    `an integer ${describeRange(low, high)}`,
    (value) => isInteger(value) && value >= low && value <= high,
  );
}

function describeRange(low: number, high: number): string {
  if (high < Number.MAX_SAFE_INTEGER) return `from ${low} to ${high}`;
  return low > Number.MIN_SAFE_INTEGER ? `≥ ${low}` : "between -2^53 and 2^53";
}

/** Accepts an integer from 1 to 2^31 - 1. */
export const count: Check = claim(
  "an integer ≥ 1",
  (value) => isInteger(value) && value >= 1 && value < 2 ** 31,
);
/** Accepts a number from 0 to 1, both included. */
export const share: Check = claim(
  "a number from 0 to 1",
  (value) => typeof value === "number" && value >= 0 && value <= 1,
);
export const truth: Check = claim("true or false", (value) => typeof value === "boolean");
export const text: Check = claim("a string", (value) => typeof value === "string");
export const path: Check = claim("a path", (value) => typeof value === "string" && value !== "");
export const object: Check = claim("an object", (value) => typeof value === "object" && value !== null);
export const callback: Check = claim("a function", (value) => typeof value === "function");
export const passes: Check = claim(
  "a whole number ≥ 0, or Infinity",
  (value) => value === Number.POSITIVE_INFINITY || (isInteger(value) && value >= 0),
);

export function oneOf(...values: readonly (string | number | boolean)[]): Check {
  return claim(values.map(shown).join(" or "), (value) => (values as readonly unknown[]).includes(value));
}

export function listOf(what: string, accepts: (value: unknown) => boolean): Check {
  return claim(`a list of ${what}`, (value) => Array.isArray(value) && value.every(accepts));
}

/** Makes a check that accepts undefined and passes every other value to `check`. */
export function optional(check: Check): Check {
  return (what, value) => {
    if (value !== undefined) check(what, value);
  };
}
