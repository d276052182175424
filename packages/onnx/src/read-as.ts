// Element types of ONNX that a graph here does not have, and what they may be read as if the caller says so.
import { MpError } from "@mp/graph";
import { checks, readOptions } from "@mp/graph/internal";
import { type ElementType, elementTypeOfCode } from "./element-type.js";

/** Substitutes for element types: integers that hold all values of the type, and floats that round its values. */
export interface ReadAs {
  /** Values are rounded to nearest and all operators compute in f32. Numbers beyond f32's range are refused. */
  readonly DOUBLE?: "f32";
  /** Results of sums, products and the like wrap around as 8-bit ones do. */
  readonly INT8?: "i32";
  readonly INT16?: "i32";
  readonly UINT16?: "i32";
  readonly UINT32?: "i64";
}

export type SubstitutedType = keyof ReadAs;
export type SmallInteger = Exclude<SubstitutedType, "DOUBLE">;

/** The only possible substitute for each type. */
export const substitutes: Required<ReadAs> = {
  DOUBLE: "f32",
  INT8: "i32",
  INT16: "i32",
  UINT16: "i32",
  UINT32: "i64",
};

const isSubstituted = (type: ElementType): type is SubstitutedType => Object.hasOwn(substitutes, type);

/** The substitute for a type, if the caller gave one. */
export function findSubstitute(type: ElementType, readAs: ReadAs): ReadAs[SubstitutedType] {
  return isSubstituted(type) ? readAs[type] : undefined;
}

/** The small integer type with ONNX's number `code`, if the caller gave a substitute for it. */
export function smallIntegerOfCode(code: number, readAs: ReadAs): SmallInteger | undefined {
  const type = elementTypeOfCode(code);
  if (type === undefined || !isSubstituted(type) || type === "DOUBLE") return undefined;
  return readAs[type] === undefined ? undefined : type;
}

/** A message's ending with advice on an element type; empty if there is no remedy. */
export function remedyFor(type: ElementType): string {
  return isSubstituted(type) ? `; pass readAs: { ${type}: "${substitutes[type]}" } to read it as that` : "";
}

const OPTIONS = {
  DOUBLE: checks.optional(checks.text),
  INT8: checks.optional(checks.text),
  INT16: checks.optional(checks.text),
  UINT16: checks.optional(checks.text),
  UINT32: checks.optional(checks.text),
};

/** @throws MP_INVALID_ARGUMENT for a type without substitutes, and for a wrong substitute */
export function expectReadAs(where: string, readAs: ReadAs | undefined): ReadAs {
  if (readAs === undefined) return {};
  const given = readOptions(where, readAs, OPTIONS, { example: '{ DOUBLE: "f32" }' });
  for (const [type, substitute] of Object.entries(given)) {
    const wanted = substitutes[type as SubstitutedType];
    if (substitute !== undefined && substitute !== wanted)
      throw new MpError("MP_INVALID_ARGUMENT", `${where}: ${type} is read as ${wanted}, got ${substitute}`);
  }
  return given as ReadAs;
}
