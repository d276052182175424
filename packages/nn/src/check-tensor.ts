import { MpError, type Tensor } from "@mp/core";
import { isFloat } from "@mp/core/graph";
import { asTensor } from "@mp/core/ops";
import { mismatch } from "./errors.js";

/**
 * Checks logits [..., classes] and labels [...]. Returns the number of classes.
 * @throws MP_INVALID_ARGUMENT for a value that is not a tensor, MP_SHAPE_MISMATCH for shapes that do not fit
 */
export function expectLabels(what: string, logits: Tensor, labels: Tensor): number {
  asTensor(logits, `${what}: logits`);
  asTensor(labels, `${what}: labels`);
  const classes = logits.shape.at(-1);
  const wanted = logits.shape.slice(0, -1);
  if (classes !== undefined && wanted.join() === labels.shape.join()) return classes;
  throw mismatch(
    `${what}: logits [${logits.shape.join(", ")}] take labels [${wanted.join(", ")}], got [${labels.shape.join(", ")}]; ${remedy(logits, labels)}`,
  );
}

/** Advice for a wrong shape: PyTorch's classes are on the second axis; one-hot labels have all axes. */
function remedy({ shape: given }: Tensor, { shape }: Tensor): string {
  if (given.length > 0 && given.join() === shape.join()) {
    return "labels are class numbers, not one-hot rows: pass argMax(labels)";
  }
  const [n, , ...rest] = given;
  const areSecond = rest.length > 0 && n !== undefined && [n, ...rest].join() === shape.join();
  if (!areSecond) return "the order is (logits, labels)";
  const last = [0, ...rest.map((_, at) => at + 2), 1];
  return `classes are the last axis: pass transpose(logits, [${last.join(", ")}])`;
}

/** @throws MP_DTYPE_MISMATCH for logits that are not floats */
export function expectFloatLogits(what: string, { dtype }: Tensor): void {
  if (isFloat(dtype)) return;
  throw new MpError("MP_DTYPE_MISMATCH", `${what}: logits must be floats before a sigmoid, got ${dtype}`);
}

/**
 * Checks that two tensors have the same shape; nothing is broadcast.
 * @throws MP_INVALID_ARGUMENT for a value that is not a tensor, MP_SHAPE_MISMATCH for shapes that differ
 */
export function expectAlike(what: string, pair: Readonly<Record<string, Tensor>>): void {
  for (const [name, tensor] of Object.entries(pair)) asTensor(tensor, `${what}: ${name}`);
  const [[a, x], [b, y]] = Object.entries(pair) as [[string, Tensor], [string, Tensor]];
  if (x.shape.join() === y.shape.join()) return;
  throw mismatch(
    `${what}: ${a} [${x.shape.join(", ")}] and ${b} [${y.shape.join(", ")}] differ in shape; reshape one of them`,
  );
}
