/** A flag of the command line, common or of one app: help, parser and default. */
export interface Flag<T> {
  readonly help: string;
  /** Placeholder for the value in `--help`; a flag without it is a switch. */
  readonly argument?: string;
  readonly default: T;
  /** Parses the text; throws a `FlagError` that says which values are allowed. */
  readonly parse: (text: string) => T;
}

/** An invalid value of a flag. The message completes a sentence that names the flag and the value. */
export class FlagError extends Error {
  override readonly name = "FlagError";
}

export type Flags = Readonly<Record<string, Flag<unknown>>>;
export type FlagValues<F extends Flags> = {
  readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never;
};

interface Described {
  readonly help: string;
}

interface Range {
  readonly min?: number;
  readonly max?: number;
}

type NumberOptions = Described & Range & { readonly default?: number };
type NumberFlag<O> = Flag<O extends { readonly default: number } ? number : number | undefined>;

/** A flag for an integer, at least 1 unless another range is given. */
export const integer = <O extends NumberOptions>(options: O): NumberFlag<O> =>
  numeric({ min: 1, ...options }, "N", "an integer", Number.isSafeInteger) as NumberFlag<O>;

/** A flag for a finite number, at least 0 unless another range is given. */
export const number = <O extends NumberOptions>(options: O): NumberFlag<O> =>
  numeric({ min: 0, ...options }, "X", "a number", Number.isFinite) as NumberFlag<O>;

function numeric(
  { help, min, max, default: given }: NumberOptions & { readonly min: number },
  argument: string,
  kind: string,
  isValid: (value: number) => boolean,
): Flag<number | undefined> {
  const range = max === undefined ? `≥ ${min}` : `from ${min} to ${max}`;
  const parse = (text: string): number => {
    const value = toNumber(text);
    if (isValid(value) && value >= min && value <= (max ?? value)) return value;
    throw new FlagError(`expected ${kind} ${range}`);
  };
  return { help, argument, default: given, parse };
}

const WIDEST_ARGUMENT = 20;

/** A flag for one of a few words. */
export function choice<const V extends string>(
  values: readonly V[],
  options: Described & { readonly default: NoInfer<V> },
): Flag<V> {
  const parse = (text: string): V => {
    const value = values.find((candidate) => candidate === text);
    if (value === undefined) throw new FlagError(`expected one of ${values.join(", ")}`);
    return value;
  };
  const listed = values.join("|");
  // A long list as the argument would indent every flag's help too far.
  const isShort = listed.length <= WIDEST_ARGUMENT;
  const help = isShort ? options.help : `${options.help}: ${values.join(", ")}`;
  return { help, argument: isShort ? listed : "NAME", default: options.default, parse };
}

/** A switch, false unless given. */
export function toggle(options: Described): Flag<boolean> {
  return { help: options.help, default: false, parse: () => true };
}

/** A flag for any text except an empty one, such as a path. */
export function text(options: Described & { readonly argument: string }): Flag<string | undefined> {
  const parse = (value: string): string => {
    if (value === "") throw new FlagError(`expected ${options.argument}`);
    return value;
  };
  return { help: options.help, argument: options.argument, default: undefined, parse };
}

/** Converts text to a number, blanks to NaN; `Number` alone would make them 0. */
function toNumber(value: string): number {
  return value.trim() === "" ? Number.NaN : Number(value);
}

/** The name of a flag on the command line: `--learning-rate` for `learningRate`. */
export function flagName(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
