/** Tells apart recipes as files describe them: names, each followed by everything that decides the numbers as JSON. */

const FACTS = / (\{"rules":.*?"scopes":\{.*?\}\})/g;

/** Leaves out the names, which decide nothing. */
export const withoutNames = (text: string): string => text.replace(/(^|: )[^:]* \{"rules"/g, '$1{"rules"');

/** The names; if another description has the same, also the facts that it does not have. */
export function namesBeside(text: string, other: string): string {
  const names = text.replace(FACTS, "");
  if (names !== other.replace(FACTS, "")) return names;
  const theirs = factsIn(other);
  return [names, ...factsIn(text).filter((fact) => !theirs.includes(fact))].join(", ");
}

function factsIn(text: string): readonly string[] {
  const list = (value: unknown, path: string): readonly string[] =>
    typeof value !== "object" || value === null
      ? [`${path} ${value}`]
      : Object.entries(value).flatMap(([key, each]) => list(each, path === "" ? key : `${path}.${key}`));
  try {
    return [...text.matchAll(FACTS)].flatMap(([, facts = ""]) => list(JSON.parse(facts), ""));
  } catch {
    return []; // A file may hold anything.
  }
}
