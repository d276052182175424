/**
 * One flag of the command line: how it is shown, how its text is parsed, and its default. Common flags and an app's own
 * are made by the same functions, so their help and errors have the same form.
 */
export interface Flag<T> {
  readonly help: string;
  /** Placeholder after the flag in `--help`; without it the flag is a switch. */
  readonly argument?: string;
  readonly default: T;
  /** Throws a `FlagError` that says which values are allowed. */
  readonly parse: (text: string) => T;
}

/** An invalid value of a flag; the message continues a sentence that names flag and value. */
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
  /** Smallest value allowed. */
  readonly min?: number;
  readonly max?: number;
}

/** An integer, at least 1 unless another range is given. */
export function integer(options: Described & Range & { readonly default: number }): Flag<number>;
export function integer(options: Described & Range): Flag<number | undefined>;
export function integer(
  options: Described & Range & { readonly default?: number },
): Flag<number | undefined> {
  const { help, min = 1, max = Number.MAX_SAFE_INTEGER } = options;
  const wanted = `expected an integer ${max === Number.MAX_SAFE_INTEGER ? `≥ ${min}` : `from ${min} to ${max}`}`;
  const parse = (text: string): number => {
    const value = toNumber(text);
    if (!Number.isSafeInteger(value) || value < min || value > max) throw new FlagError(wanted);
    return value;
  };
  return { help, argument: "N", default: options.default, parse };
}

/** A finite number, at least 0 unless another range is given. */
export function number(options: Described & Range & { readonly default: number }): Flag<number>;
export function number(options: Described & Range): Flag<number | undefined>;
export function number(options: Described & Range & { readonly default?: number }): Flag<number | undefined> {
  const { help, min = 0, max = Number.MAX_VALUE } = options;
  const wanted = `expected a number ${max === Number.MAX_VALUE ? `≥ ${min}` : `from ${min} to ${max}`}`;
  const parse = (text: string): number => {
    const value = toNumber(text);
    if (!Number.isFinite(value) || value < min || value > max) throw new FlagError(wanted);
    return value;
  };
  return { help, argument: "X", default: options.default, parse };
}

const WIDEST_ARGUMENT = 20;

/** One of a few words. */
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
  return listed.length <= WIDEST_ARGUMENT
    ? { help: options.help, argument: listed, default: options.default, parse }
    : { help: `${options.help}: ${values.join(", ")}`, argument: "NAME", default: options.default, parse };
}

/** Present or not. */
export function toggle(options: Described): Flag<boolean> {
  return { help: options.help, default: false, parse: () => true };
}

/** Any text, such as a path. */
export function text(options: Described & { readonly argument: string }): Flag<string | undefined> {
  const parse = (value: string): string => {
    if (value === "") throw new FlagError(`expected ${options.argument}`);
    return value;
  };
  return { help: options.help, argument: options.argument, default: undefined, parse };
}

/** `Number` alone converts blanks to 0. */
function toNumber(value: string): number {
  return value.trim() === "" ? Number.NaN : Number(value);
}

/** `learningRate` is written `--learning-rate`. */
export function flagName(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
