/** Largest number of names in a hint; more names would hide the one that the user meant. */
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
