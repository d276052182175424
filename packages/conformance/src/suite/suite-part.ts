/** A part of the suite, for engines on which all of it takes long: after as many parts as there are, every case has run. */
import type { ConformanceCase } from "../conformance-case.js";

const DAY_MS = 86_400_000;

/** The class of a case: an operator, whatever the dtype, or a feature, whatever the variant. */
const classOf = ({ id }: ConformanceCase): string => /^[^/]+\/[^/-]+/.exec(id)?.[0] ?? id;

function hash(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length; at++) sum = (Math.imul(sum, 31) + text.charCodeAt(at)) >>> 0;
  return sum;
}

/**
 * The cases of one part. Neighbors in a class, such as dtypes and claims of one operator, are in different parts, so that
 * each part has a share of every class; classes start at different parts.
 */
export function partOf(
  cases: readonly ConformanceCase[],
  part: number,
  parts: number,
): readonly ConformanceCase[] {
  const seen = new Map<string, number>();
  return cases.filter((subject) => {
    const name = classOf(subject);
    const index = seen.get(name) ?? hash(name);
    seen.set(name, index + 1);
    return index % parts === part % parts;
  });
}

/** The part of today, or the one that `MP_SUITE` names; undefined for the whole suite. */
export function askedPart(environment: Readonly<Record<string, string | undefined>>): number | undefined {
  const asked = environment["MP_SUITE"] ?? "";
  if (asked === "whole") return undefined;
  if (asked === "") return Math.floor(Date.now() / DAY_MS);
  const part = Number(asked);
  if (Number.isSafeInteger(part) && part >= 0) return part;
  throw new Error(`MP_SUITE must be "whole" or the number of a part, 0 or more, got "${asked}"`);
}

/**
 * One of `parts` parts of the cases: `MP_SUITE` names it by a number, by default that of the day, of which the remainder
 * counts. `MP_SUITE=whole` gives all cases. The part is printed.
 * @param always cases that are in every part
 */
export function suitePart(
  cases: readonly ConformanceCase[],
  parts: number,
  always: (subject: ConformanceCase) => boolean = () => false,
): readonly ConformanceCase[] {
  const part = parts === 1 ? undefined : askedPart(process.env);
  if (part === undefined) return cases;
  const drawn = new Set(partOf(cases, part, parts));
  const chosen = cases.filter((subject) => drawn.has(subject) || always(subject));
  console.log(
    `conformance: ${chosen.length} of ${cases.length} cases, MP_SUITE=${part} (part ${(part % parts) + 1} of ${parts}); MP_SUITE=whole runs all`,
  );
  return chosen;
}
