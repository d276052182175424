import { MpError } from "@mp/graph";

/** Reasons why bytes or a model are refused: `details.problem` of an MP_PARSE error. Stable, unlike messages. */
const ONNX_PROBLEMS = [
  "too-many-bytes",
  "too-deep",
  "too-many-messages",
  "too-many-fields",
  "too-many-numbers",
  "too-many-nodes",
  "too-many-tensors",
  "too-much-data",
  "string-too-long",
  "truncated",
  "invalid-varint",
  "invalid-tag",
  "group",
  "wire-type",
  "duplicate-field",
  "invalid-utf8",
  "missing-field",
  "invalid-field",
  "duplicate-name",
  "size-mismatch",
  "undefined-value",
] as const;

export type OnnxProblem = (typeof ONNX_PROBLEMS)[number];

/** Prefix of every message of this package. */
const PREFIX = "onnx: ";

/** An error's message without this package's prefix, to quote in another message. */
export function withoutPrefix({ message }: Error): string {
  return message.startsWith(PREFIX) ? message.slice(PREFIX.length) : message;
}

/** Throws MP_PARSE with the problem in the details. */
export function refuse(
  problem: OnnxProblem,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): never {
  throw new MpError("MP_PARSE", `${PREFIX}${message}`, { details: { problem, ...details } });
}

/** Throws MP_UNSUPPORTED: the model is valid, but uses something that this SDK does not support. */
export function unsupported(message: string, details: Readonly<Record<string, unknown>> = {}): never {
  throw new MpError("MP_UNSUPPORTED", `${PREFIX}${message}`, { details });
}

/** A name in quotes, escaped and truncated, so that a hostile name can neither break nor flood a message. */
export function quote(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
}
