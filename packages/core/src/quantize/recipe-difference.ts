/** Compares recipes as checkpoints describe them: a name, then as JSON everything that decides the numbers. */

const FACTS = / (\{"rules":.*?"scopes":\{.*?\}\})/g;

/** Removes the names of recipes, since no number depends on them. */
export const withoutNames = (text: string): string => text.replace(/(^|: )[^:]* \{"rules"/g, '$1{"rules"');

const facts = (text: string): readonly string[] => text.replace(/["[\]:]+/g, " ").split(/ ?[,{}]+ ?/);

/** Returns the names of the recipes in `text`. If those in `other` are the same, adds the options that differ. */
export function namesBeside(text: string, other: string): string {
  const names = text.replace(FACTS, "");
  if (names !== other.replace(FACTS, "")) return names;
  const theirs = facts(other);
  return [names, ...facts(text).filter((fact) => !theirs.includes(fact))].join(", ");
}
