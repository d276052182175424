import { invalid } from "./errors.js";
import { shown } from "./shown.js";

/** All options by name; a new option does not compile until it is listed here. */
export type OptionNames<O> = { readonly [K in keyof O]-?: true };

/**
 * Rejects unknown options. The compiler does not see them in JavaScript or in an object that is not a literal at the
 * call. An option that is undefined counts as omitted.
 * @param what the owner of the options, the subject of the message: `adamW`
 * @param known all names, as `{ learningRate: true, … }`
 * @param example shown if the options are not an object
 * @param elsewhere advice by option name, for options of other libraries or parts that are missing here
 * @throws MP_INVALID_ARGUMENT if `options` is not an object, or for an unknown name, with the name that was likely
 *   meant
 */
export function checkOptions<O extends object>(
  what: string,
  options: O,
  known: OptionNames<NoInfer<O>>,
  example?: string,
  elsewhere: Readonly<Record<string, string>> = {},
): void {
  const given: unknown = options;
  const names = Object.keys(known);
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const wanted = example === undefined ? "" : ` such as ${example}`;
    throw invalid(`${what}: takes options${wanted}, got ${shown(given)}`);
  }
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || Object.hasOwn(known, name)) continue;
    const meant = Object.hasOwn(elsewhere, name) ? elsewhere[name] : meantInstead(name, names);
    const remedy = meant ?? `takes ${names.join(", ")}`;
    throw invalid(`${what}: has no option ${shown(name)}; ${remedy}`, {
      details: { option: name, known: names },
    });
  }
}

/** `did you mean …?` with the name that was likely meant; undefined if none is close. */
export function meantInstead(name: string, names: readonly string[]): string | undefined {
  const meant = likelyMeant(name, names);
  return meant === undefined ? undefined : `did you mean ${meant}?`;
}

/** The known name that starts with, abbreviates or nearly spells the given one; undefined if none is close. */
function likelyMeant(name: string, names: readonly string[]): string | undefined {
  const lower = name.toLowerCase();
  const scored = names.map((candidate) => {
    const other = candidate.toLowerCase();
    const initials = [candidate[0], ...candidate.replace(/[^A-Z]/g, "")].join("").toLowerCase();
    const isShortened = lower.length >= 3 && (other.startsWith(lower) || other.endsWith(lower));
    const isPart = isShortened || (lower.startsWith(other) && 2 * other.length > lower.length);
    if (initials.length > 1 && initials === lower) return { candidate, far: 0 };
    return { candidate, far: isPart ? 0.5 : editDistance(lower, other) };
  });
  const [best] = scored.sort((a, b) => a.far - b.far);
  return best !== undefined && best.far <= Math.max(1, name.length / 3) ? best.candidate : undefined;
}

/** Levenshtein distance: single letters inserted, deleted or replaced. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const replaced = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
