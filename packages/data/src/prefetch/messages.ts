/** Messages between the training thread and the thread that makes batches. */
import { ERROR_CODES, type ErrorCode, isHostTensor, MpError } from "@mp/core";
import type { Json } from "@mp/core/fit";
import type { LabeledImages } from "../image/labeled-images.js";

/** The worker's task: load a user's module, or make batches of images as `imageBatches` does. */
export type WorkerTask = (
  | { readonly module: string; readonly options: unknown }
  | { readonly images: LabeledImages; readonly options: unknown }
) & { readonly cursor: Json | undefined; readonly pass: number | undefined };

/** Answers to `"next"`, in order; no answer follows `end` or `error`. */
export type Answer =
  | { readonly kind: "batch"; readonly batch: unknown; readonly cursor: Json }
  | { readonly kind: "end" }
  | { readonly kind: "error"; readonly error: SentError };

/** An error as plain data, because a structured clone would lose its code and details. */
export interface SentError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: unknown;
  readonly details: unknown;
}

export function sendableError(error: unknown): SentError {
  if (!(error instanceof Error)) {
    return { name: "Error", message: String(error), stack: undefined, code: undefined, details: undefined };
  }
  const { name, message, stack } = error;
  const { code, details } = error as { code?: unknown; details?: unknown };
  return { name, message, stack, code, details: JSON.parse(JSON.stringify(details ?? {})) };
}

export function reviveError({ name, message, stack, code, details }: SentError): Error {
  const cause = stack === undefined ? undefined : new Error(`on the thread that makes the batches: ${stack}`);
  if (name === "MpError" && (ERROR_CODES as readonly unknown[]).includes(code)) {
    const facts = details as Readonly<Record<string, unknown>>;
    return new MpError(code as ErrorCode, message, { details: facts, cause });
  }
  return new Error(message, { cause });
}

/** Freezes the tensors of a batch again after cloning, as `tensor` froze the originals. */
export function reviveBatch(value: unknown): unknown {
  if (isHostTensor(value)) {
    Object.freeze(value.shape);
    return Object.freeze(value);
  }
  if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
    for (const part of Object.values(value)) reviveBatch(part);
  }
  return value;
}
