// Which weight of the file a layer's variable is. Names are paths of layers, then the variable: `conv/kernel` in tfjs,
// `model/conv/kernel`, `lstm/lstm_cell/kernel:0` from Keras.
import { quote, refuseFile } from "../problem.js";

/** A layer around the variable, from the outside in. */
export interface ScopeName {
  readonly name: string;
  /** Whether the file's names may lack it. */
  readonly isOptional: boolean;
}

export interface WeightPlace {
  readonly scopes: readonly ScopeName[];
  /** Names that the variable may have. */
  readonly variables: readonly string[];
}

/** Finds the weight of a place among these names. @throws MP_PARSE where there is none, and where there are two */
export function weightFinder(names: Iterable<string>): (place: WeightPlace) => string {
  const byVariable = new Map<string, { readonly name: string; readonly parts: readonly string[] }[]>();
  for (const name of names) {
    const parts = name.replace(/:\d+$/, "").split("/");
    const variable = parts.pop() ?? "";
    const known = byVariable.get(variable);
    if (known === undefined) byVariable.set(variable, [{ name, parts }]);
    else known.push({ name, parts });
  }
  return ({ scopes, variables }) => {
    const required = scopes
      .findLast(({ isOptional }) => !isOptional)
      ?.name.split("/")
      .at(-1);
    const known = scopes.flatMap(({ name }) => name.split("/"));
    const found = variables
      .flatMap((variable) => byVariable.get(variable) ?? [])
      .filter(({ parts }) => required === undefined || parts.includes(required))
      .map(({ name, parts }) => ({
        name,
        rank: 1000 * known.filter((part) => parts.includes(part)).length - parts.length,
      }));
    const best = found.reduce((most, { rank }) => Math.max(most, rank), Number.NEGATIVE_INFINITY);
    const [first, ...others] = found.filter(({ rank }) => rank === best);
    const place = `${known.join("/")}/${variables[0]}`;
    if (first === undefined)
      return refuseFile(`the file has no weight for ${quote(place)}`, { weight: place });
    if (others.length === 0) return first.name;
    return refuseFile(
      `${quote(first.name)} and ${quote(others[0]?.name ?? "")} may both be ${quote(place)}`,
      {
        weight: place,
      },
    );
  };
}
