/** A number in JSON, which has no NaN and no infinities: those are texts, `"NaN"` and `"Infinity"`. */
export type JsonNumber = number | string;

export const toJson = (value: number): JsonNumber => (Number.isFinite(value) ? value : String(value));
