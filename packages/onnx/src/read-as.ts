// ONNX's element types that graphs do not have, and the dtypes that the caller may substitute for them.
import { MpError } from "@mp/graph";
import { checks, readOptions } from "@mp/graph/internal";
import { type ElementType, elementTypeOfCode } from "./element-type.js";

/** Substitutes for element types that graphs lack: integers that hold all values, or a rounding float. */
export interface ReadAs {
  /** Values are rounded to nearest, and all operators compute in f32. Values beyond f32 are refused. */
  readonly DOUBLE?: "f32";
  /** Results such as sums and products wrap around, as they do in the type itself. */
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

/** The substitute for a type; undefined if the caller gave none. */
export function findSubstitute(type: ElementType, readAs: ReadAs): ReadAs[SubstitutedType] {
  return isSubstituted(type) ? readAs[type] : undefined;
}

/** The integer type with this ONNX code, if `readAs` has a substitute for it; undefined otherwise. */
export function smallIntegerOfCode(code: number, readAs: ReadAs): SmallInteger | undefined {
  const type = elementTypeOfCode(code);
  if (type === undefined || !isSubstituted(type) || type === "DOUBLE") return undefined;
  return readAs[type] === undefined ? undefined : type;
}

/** The end of a message about an unsupported type, with advice; empty if `readAs` cannot help. */
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

/** @throws MP_INVALID_ARGUMENT for a type that cannot be substituted, and for a wrong substitute */
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
