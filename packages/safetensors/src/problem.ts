import { SafetensorsError } from "./errors.js";

/** Reasons to refuse a file: `details.problem` of a SAFETENSORS_PARSE error. Stable, unlike messages. */
export const SAFETENSORS_PROBLEMS = [
  "file-too-short",
  "header-too-large",
  "header-beyond-file",
  "header-start",
  "invalid-utf8",
  "invalid-json",
  "duplicate-key",
  "unknown-field",
  "missing-field",
  "number-too-large",
  "unknown-dtype",
  "invalid-offsets",
  "size-mismatch",
  "overlap",
  "hole",
  "data-missing",
  "data-left-over",
  "invalid-bool",
  "too-many-entries",
  "too-many-dimensions",
  "too-much-data",
  "hash-mismatch",
] as const;

export type SafetensorsProblem = (typeof SAFETENSORS_PROBLEMS)[number];

/** Throws SAFETENSORS_INVALID_ARGUMENT. */
export function refuseArgument(message: string): never {
  throw new SafetensorsError("SAFETENSORS_INVALID_ARGUMENT", message);
}

/** Throws SAFETENSORS_PARSE with the problem's kind in the details. */
export function refuse(
  problem: SafetensorsProblem,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): never {
  throw new SafetensorsError("SAFETENSORS_PARSE", `safetensors: ${message}`, {
    details: { problem, ...details },
  });
}

/** Quotes, escapes and truncates a name, so that a hostile one cannot break or flood a message. */
export function quote(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
}

export const formatShape = (shape: readonly number[]): string => `[${shape.join(", ")}]`;
