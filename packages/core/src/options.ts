import { MpError } from "./errors.js";
import { shown } from "./shown.js";

/** Every option that there is, by name: a new one does not compile until it stands here. */
export type OptionNames<O> = { readonly [K in keyof O]-?: true };

/**
 * Refuses options that nothing would read: the compiler lets them through in JavaScript, and in an object that was
 * not written where it is passed. One that is undefined is one left out.
 * @param what whose options they are, the message's subject: `adamW`
 * @param known all names, as `{ learningRate: true, … }`
 * @param example is shown where there are no options at all
 * @throws MP_INVALID_ARGUMENT for what is no object, or a name that is not known, with the one that is likely meant
 */
export function checkOptions<O extends object>(
  what: string,
  options: O,
  known: OptionNames<NoInfer<O>>,
  example?: string,
): void {
  const given: unknown = options;
  const names = Object.keys(known);
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const wanted = example === undefined ? "" : ` such as ${example}`;
    throw new MpError("MP_INVALID_ARGUMENT", `${what}: takes options${wanted}, got ${shown(given)}`);
  }
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || Object.hasOwn(known, name)) continue;
    const remedy = meantInstead(name, names) ?? `takes ${names.join(", ")}`;
    throw new MpError("MP_INVALID_ARGUMENT", `${what}: has no option ${shown(name)}; ${remedy}`, {
      details: { option: name, known: names },
    });
  }
}

/** `did you mean …?` of the name that is likely meant; undefined where none is near. */
export function meantInstead(name: string, names: readonly string[]): string | undefined {
  const meant = likelyMeant(name, names);
  return meant === undefined ? undefined : `did you mean ${meant}?`;
}

/** The known name that starts, abbreviates or nearly spells the same word; undefined where none is near. */
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

/** Levenshtein's: single letters put in, left out or replaced. */
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
