import { invalid } from "./errors.js";
import { meantInstead } from "./missing-name.js";
import { shown } from "./shown.js";

/** All options by name; a new option does not compile until it is listed here. */
export type OptionNames<O> = { readonly [K in keyof O]-?: true };

/**
 * Rejects unknown options, also where the compiler does not: in JavaScript, and in an object that is not a literal in
 * the call. An option that is undefined counts as omitted.
 * @param what the owner of the options, the subject of the message: `adamW`
 * @param known all names, as `{ learningRate: true, … }`
 * @param example shown if the options are not an object
 * @param elsewhere advice by option name, for options that other libraries or parts have and this one lacks
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
