/** A number as JSON; NaN and infinities, which JSON lacks, are the texts `"NaN"` and `"Infinity"`. */
export type JsonNumber = number | string;

export const toJson = (value: number): JsonNumber => (Number.isFinite(value) ? value : String(value));
