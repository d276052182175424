/** Tells apart recipes as files describe them: names, each followed by everything that decides the numbers as JSON. */

const FACTS = / (\{"rules":.*?"scopes":\{.*?\}\})/g;

/** Leaves out the names, which decide nothing. */
export const withoutNames = (text: string): string => text.replace(/(^|: )[^:]* \{"rules"/g, '$1{"rules"');

const facts = (text: string): readonly string[] => text.replace(/["[\]:]+/g, " ").split(/ ?[,{}]+ ?/);

/** The names; if another description has the same, also the facts that it does not have. */
export function namesBeside(text: string, other: string): string {
  const names = text.replace(FACTS, "");
  if (names !== other.replace(FACTS, "")) return names;
  const theirs = facts(other);
  return [names, ...facts(text).filter((fact) => !theirs.includes(fact))].join(", ");
}
