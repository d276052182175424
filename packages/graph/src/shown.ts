import { isPlainObject } from "./plain-object.js";

/** Length of the longest list that is shown by its elements; longer lists are shown by their length. */
const MOST_ELEMENTS = 16;

/**
 * Formats a rejected value for a message: text in quotes, a list by its elements, an object by its keys or its class.
 * A function's source is never shown.
 */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return value.name === "" ? "a function" : `the function ${value.name}`;
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Promise) return "a promise";
  if (Array.isArray(value)) {
    const parts = value.map((part) => (Array.isArray(part) ? "a list" : shown(part)));
    return parts.length <= MOST_ELEMENTS ? `[${parts.join(", ")}]` : `a list of ${parts.length}`;
  }
  if (!isPlainObject(value)) return value.constructor?.name ?? "an object";
  return `an object with ${Object.keys(value).join(", ") || "nothing"}`;
}
