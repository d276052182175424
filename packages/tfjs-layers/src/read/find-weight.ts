// Finds the weight of a layer's variable. The variable's name is the path of the layer, then the variable's own:
// `conv/kernel` in tfjs, `model/conv/kernel` or `lstm/lstm_cell/kernel:0` from Keras.
import { quote, refuseFile } from "../problem.js";

/** A layer that contains the variable. */
export interface ScopeName {
  readonly name: string;
  /** Whether names in the file may leave out this scope. */
  readonly isOptional: boolean;
}

export interface VariablePath {
  /** From the outermost layer inwards. */
  readonly scopes: readonly ScopeName[];
  /** Possible names of the variable. */
  readonly variables: readonly string[];
}

/** Makes a function that finds the name with the most of a variable's scopes, or throws MP_PARSE for none or a tie. */
export function weightFinder(names: Iterable<string>): (place: VariablePath) => string {
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
