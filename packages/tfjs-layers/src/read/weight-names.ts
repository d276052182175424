// Which weight of the file a layer's variable is. Names are paths of layers, then the variable: `conv/kernel` in tfjs,
// `model/conv/kernel`, `lstm/lstm_cell/kernel:0` from Keras.
import { malformed, quote } from "../problem.js";

/** A layer around the variable, from the outside in. */
export interface ScopeName {
  readonly name: string;
  /** Whether the file's names may lack it. */
  readonly isOptional: boolean;
}

export interface WeightPlace {
  readonly scopes: readonly ScopeName[];
  /** What the variable may be called. */
  readonly variables: readonly string[];
}

export function weightName(names: Iterable<string>, { scopes, variables }: WeightPlace): string {
  const required = scopes
    .findLast(({ isOptional }) => !isOptional)
    ?.name.split("/")
    .at(-1);
  const known = scopes.flatMap(({ name }) => name.split("/"));
  const found = [...names].flatMap((name) => {
    const parts = name.replace(/:\d+$/, "").split("/");
    const variable = parts.pop() ?? "";
    if (!variables.includes(variable)) return [];
    if (required !== undefined && !parts.includes(required)) return [];
    const matches = known.filter((part) => parts.includes(part)).length;
    return [{ name, rank: 1000 * matches - parts.length }];
  });
  const best = Math.max(...found.map(({ rank }) => rank));
  const [first, ...others] = found.filter(({ rank }) => rank === best);
  const place = `${known.join("/")}/${variables[0]}`;
  if (first === undefined) return malformed(`the file has no weight for ${quote(place)}`, { weight: place });
  if (others.length === 0) return first.name;
  return malformed(`${quote(first.name)} and ${quote(others[0]?.name ?? "")} may both be ${quote(place)}`, {
    weight: place,
  });
}
