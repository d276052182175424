/**
 * Reads an object that another library wrote, such as a config.json, by a table of its fields. A field is
 * read, or refused unless it has no effect, or known not to affect the result. Fields that the table lacks
 * are refused, because they may affect the result.
 */

import { MpError } from "@mp/core";
import { type checks, shown } from "@mp/graph/internal";
import { invalid } from "../errors.js";
import { AGAIN } from "../safetensors/json-file.js";

/** A field that is read. If it is missing or null, it gets the default, or is refused if `isRequired`. */
interface ReadField {
  readonly accepts: checks.Check;
  readonly default: unknown;
  readonly isRequired: boolean;
  /** Whether null is a value of its own, other than a missing field. */
  readonly isNullable?: true;
}

/** A field that is refused unless it has one of the values `only`, which need no special implementation. */
interface NeutralField {
  readonly only: readonly unknown[];
  /** Whether a list of these values is accepted too. */
  readonly isList?: true;
  readonly because: string;
}

export type FieldRule = ReadField | NeutralField | "unused";
export type FieldTable = Readonly<Record<string, FieldRule>>;
export type FieldValues = Readonly<Record<string, unknown>>;

export const required = (accepts: checks.Check): ReadField => ({ ...optional(accepts), isRequired: true });

export const optional = (accepts: checks.Check, fallback?: unknown): ReadField => ({
  accepts,
  default: fallback,
  isRequired: false,
});

/** Table rows for fields that do not affect the result; `names` are separated by spaces. */
export const unused = (names: string): FieldTable =>
  Object.fromEntries(names.split(/\s+/).map((name) => [name, "unused"]));

/** Table rows for fields that are refused unless they are null or have the given value, which needs no implementation. */
export const neutral = (because: string, values: FieldValues): FieldTable =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { only: [value], because }]));

const isNeutral = (rule: FieldRule): rule is NeutralField => typeof rule === "object" && "only" in rule;

/** Whether two JSON values are equal; objects and lists are compared as JSON text. */
const isSame = (one: unknown, other: unknown): boolean =>
  one === other || (typeof one === "object" && JSON.stringify(one) === JSON.stringify(other));

function meansNothing(value: unknown, { only, isList }: NeutralField): boolean {
  const values = isList === true && Array.isArray(value) ? value : [value];
  return values.every((one) => only.some((each) => isSame(each, one)));
}

/**
 * Reads the fields and fills in defaults.
 * @param ignored names of fields that the caller knows not to affect the result
 * @throws MP_INVALID_ARGUMENT for an invalid value or a missing field; MP_UNSUPPORTED for a field or a value whose
 *   effect is not implemented
 */
export function readFields(
  what: string,
  given: FieldValues,
  table: FieldTable,
  ignored: readonly string[],
): FieldValues {
  const refuse = (field: string, problem: string): never => {
    throw new MpError("MP_UNSUPPORTED", `${what}: ${problem}`, { details: { field } });
  };
  for (const [name, value] of Object.entries(given)) {
    if (value === null || ignored.includes(name)) continue;
    const rule = Object.hasOwn(table, name) ? table[name] : undefined;
    if (rule === undefined)
      refuse(
        name,
        `the field ${name}, which is ${shown(value)}, is not known and may change the result; if it does not, pass ignore: [${JSON.stringify(name)}]`,
      );
    else if (isNeutral(rule) && !meansNothing(value, rule)) {
      const allowed = [...rule.only.map(shown), "null"].join(" or ");
      refuse(name, `${name} must be ${allowed}, got ${shown(value)}: ${rule.because}`);
    }
  }
  return Object.fromEntries(
    Object.entries(table).flatMap(([name, rule]) =>
      rule === "unused" || isNeutral(rule) ? [] : [[name, readValue(`${what}: ${name}`, given[name], rule)]],
    ),
  );
}

function readValue(what: string, value: unknown, rule: ReadField): unknown {
  if (value === null && rule.isNullable === true) return null;
  if (value !== undefined && value !== null) {
    rule.accepts(what, value);
    return value;
  }
  if (rule.isRequired) throw invalid(`${what} is missing; ${AGAIN}, or add it`);
  return rule.default;
}
