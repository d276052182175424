import { MpError, type Tensor } from "@mp/core";
import { asTensor } from "@mp/core/ops";

/**
 * @throws MP_INVALID_ARGUMENT for a value that is not a traced tensor: a name that the batch does not have, host data
 */
export function expectTensor(what: string, value: unknown): asserts value is Tensor {
  asTensor(value, what);
}

/**
 * Two tensors of one shape: nothing is broadcast.
 * @throws MP_INVALID_ARGUMENT for a value that is not a tensor, MP_SHAPE_MISMATCH for shapes that differ
 */
export function expectAlike(what: string, pair: Readonly<Record<string, Tensor>>): void {
  for (const [name, tensor] of Object.entries(pair)) expectTensor(`${what}: ${name}`, tensor);
  const [[a, x], [b, y]] = Object.entries(pair) as [[string, Tensor], [string, Tensor]];
  if (x.shape.join() === y.shape.join()) return;
  throw new MpError(
    "MP_SHAPE_MISMATCH",
    `${what}: ${a} [${x.shape.join(", ")}] and ${b} [${y.shape.join(", ")}] differ in shape; reshape one of them`,
  );
}
