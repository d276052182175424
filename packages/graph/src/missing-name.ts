import { meantInstead } from "./options.js";

/** Largest number of names in a hint; more would hide the one that was meant. */
const MOST_NAMES = 8;

/**
 * The end of a message about a name that a tree does not have: the name that was likely meant, or the existing names.
 */
export function namesInstead(name: string, node: unknown): string {
  const names = typeof node === "object" && node !== null ? Object.keys(node) : [];
  if (names.length === 0) return "";
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
  const all = `there are ${names.slice(0, MOST_NAMES).join(", ")}${more}`;
  return `; ${meantInstead(name, names) ?? all}`;
}
