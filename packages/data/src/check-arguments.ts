/** Checks the arguments of public functions before anything is read, with the checks that all packages share. */
import { checks, readOptions } from "@mp/graph/internal";

export type Check = checks.Check;

export const claim: typeof checks.claim = checks.claim;
export const integer: typeof checks.integer = checks.integer;
export const share: Check = checks.share;
export const truth: Check = checks.truth;
export const text: Check = checks.text;
export const path: Check = checks.path;
export const callback: Check = checks.callback;
export const passes: Check = checks.passes;
export const oneOf: typeof checks.oneOf = checks.oneOf;
export const listOf: typeof checks.listOf = checks.listOf;
export const optional: typeof checks.optional = checks.optional;

/** A check for each option. A new option does not compile until it is listed here. */
export function optionsCheck<O extends object>(
  table: { readonly [K in keyof O]-?: Check },
  example: string,
): Check {
  return (what, value) => {
    readOptions<object, object>(what, value as object, table, { example });
  };
}
