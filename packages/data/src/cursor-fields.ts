import type { MpError } from "@mp/core";
import type { Json } from "@mp/core/fit";
import { invalid } from "./errors.js";

type CursorFields = Readonly<Record<string, Json | undefined>>;

/** The fields of a cursor, after its version and data have been checked. @throws MP_INVALID_ARGUMENT for a value that is not a cursor, or a cursor with another signature */
export function cursorFields(cursor: Json, signature: string, of = "this dataset"): CursorFields {
  const fields: CursorFields =
    typeof cursor === "object" && cursor !== null && !Array.isArray(cursor) ? (cursor as CursorFields) : {};
  const { version, data } = fields;
  if (version !== 1 || typeof data !== "string") throw noCursor(cursor);
  if (data === signature) return fields;
  throw invalid(
    `iterate: the cursor belongs to other data, it is of "${data}" and ${of} is "${signature}"; use the same data, sizes and seed`,
  );
}

export const isCount = (value: Json | undefined): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;

export const noCursor = (cursor: Json): MpError<"MP_INVALID_ARGUMENT"> =>
  invalid(`iterate: not a cursor of a dataset, ${JSON.stringify(cursor)}`);
