import type { Check } from "./argument-checks.js";
import { checkOptions, type OptionNames } from "./options.js";

/** An option that may be left out: its default and its check. */
export interface Defaulted<T> {
  readonly accepts: Check;
  readonly default: T;
}

/** Accepts any value, for options that are checked later: precision with the manifest, masks with the parameters. */
export const later: Check = () => {};

/**
 * The options of a function, each with its check and its default, if any. A new option does not compile until it is
 * listed.
 */
export type OptionTable<O> = {
  readonly [K in keyof O]-?: undefined extends O[K] ? Check | Defaulted<Exclude<O[K], undefined>> : Check;
};

/** A table of options that all have defaults. */
export type DefaultedOptions<O> = {
  readonly [K in keyof O]-?: Defaulted<Exclude<O[K], undefined>>;
};

/** The options after the defaults have been filled in. */
export type OptionValues<O, T> = {
  readonly [K in keyof T & keyof O]: T[K] extends Defaulted<unknown> ? Exclude<O[K], undefined> : O[K];
};

export interface OptionHints {
  /** Shown if the options are not an object. */
  readonly example?: string;
  /** Advice by option name, for options that other libraries or parts have and this one lacks. */
  readonly elsewhere?: Readonly<Record<string, string>>;
}

/** The table entry of an option that may be left out. */
export const withDefault = <const T>(fallback: T, accepts: Check): Defaulted<T> => ({
  accepts,
  default: fallback,
});

/**
 * Checks the options by their table and fills in the defaults. An undefined option counts as left out.
 * @param what the subject of the messages: `adamW`
 * @throws MP_INVALID_ARGUMENT for a value that is not allowed or an unknown name, with the name that was likely meant
 */
export function readOptions<O extends object, const T extends OptionTable<O>>(
  what: string,
  options: O,
  table: T & OptionTable<O>,
  { example, elsewhere }: OptionHints = {},
): OptionValues<O, T> {
  checkOptions<object>(what, options, table as OptionNames<object>, example, elsewhere);
  const given = options as Readonly<Record<string, unknown>>;
  const values: Record<string, unknown> = {};
  for (const [name, entry] of Object.entries<Check | Defaulted<unknown>>(table)) {
    const value = given[name];
    const isLeftOut = value === undefined && typeof entry !== "function";
    if (!isLeftOut) (typeof entry === "function" ? entry : entry.accepts)(`${what}: ${name}`, value);
    values[name] = isLeftOut ? entry.default : value;
  }
  return values as OptionValues<O, T>;
}

/**
 * Removes the values that equal their default, for the options in `later`. Checkpoints are compared by descriptions;
 * leaving out the defaults of options that were added later keeps the descriptions of old checkpoints valid.
 */
export function withoutDefaults<V extends object>(
  values: V,
  later: Readonly<Record<string, Defaulted<unknown>>>,
): V {
  const kept = Object.entries(values).filter(
    ([name, value]) => !Object.hasOwn(later, name) || value !== later[name]?.default,
  );
  return Object.fromEntries(kept) as V;
}
