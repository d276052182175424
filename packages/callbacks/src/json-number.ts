/** A number as JSON. Numbers that JSON lacks are the texts `"NaN"`, `"Infinity"` and `"-Infinity"`. */
export type JsonNumber = number | string;

export const toJson = (value: number): JsonNumber => (Number.isFinite(value) ? value : String(value));
