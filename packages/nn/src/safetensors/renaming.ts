import { shown } from "@mp/graph/internal";
import { invalid } from "../errors.js";

/**
 * Maps a tensor's name in the file to its path in the model: a function that may return undefined to leave the tensor
 * out, or pairs of pattern and replacement, applied in turn. A string pattern is a prefix; a replacement of null
 * leaves the tensor out.
 */
export type Renaming =
  | ((name: string) => string | undefined)
  | readonly (readonly [pattern: string | RegExp, replacement: string | null])[];

/** @throws MP_INVALID_ARGUMENT for a value that is neither a function nor a list of pairs */
export function checkRenaming(what: string, given: unknown): asserts given is Renaming | undefined {
  if (given === undefined || typeof given === "function") return;
  const isPair = (pair: unknown): boolean =>
    Array.isArray(pair) &&
    (typeof pair[0] === "string" || pair[0] instanceof RegExp) &&
    (typeof pair[1] === "string" || pair[1] === null);
  if (Array.isArray(given) && given.every(isPair)) return;
  throw invalid(
    `${what} must be a function of a name, or a list of pairs such as ["bert.", ""] and [/^cls\\./, null]`,
  );
}

/**
 * The path in the model for a tensor's name, with slashes; undefined if the tensor is left out.
 * @throws MP_INVALID_ARGUMENT for a function that returns something else, such as an async one
 */
export function modelPath(name: string, rename: Renaming | undefined): string | undefined {
  const renamed =
    typeof rename === "function" ? expectName(name, rename(name)) : applyPairs(name, rename ?? []);
  return renamed
    ?.split(/[./]/)
    .filter((part) => part !== "")
    .join("/");
}

function expectName(name: string, given: unknown): string | undefined {
  if (given === undefined || given === null || typeof given === "string") return given ?? undefined;
  throw invalid(
    `loadSafetensors: rename gives a name, or undefined to leave ${JSON.stringify(name)} out, got ${shown(given)}`,
  );
}

function applyPairs(name: string, pairs: Exclude<Renaming, (name: string) => unknown>): string | undefined {
  let renamed = name;
  for (const [pattern, replacement] of pairs) {
    const isFound = typeof pattern === "string" ? renamed.startsWith(pattern) : renamed.search(pattern) >= 0;
    if (!isFound) continue;
    if (replacement === null) return undefined;
    renamed =
      typeof pattern === "string"
        ? `${replacement}${renamed.slice(pattern.length)}`
        : renamed.replace(pattern, replacement);
  }
  return renamed;
}
