/**
 * The sum of two values, one of which may be broadcast to the other. Leading axes of size 1 are removed: TensorFlow's
 * optimizer fuses a product with what is added to each of its rows, and not all of those kernels accept the row as [1,
 * n].
 */
import type { DType, Shape } from "@mp/core";
import { isComputeFloat, type Value } from "@mp/core/graph";
import type { TfWriter } from "../graph/tf-writer.js";
import { emitT, reshape, sameDimensions } from "./lowering.js";

/** A name and the shape of its value. */
interface Term {
  readonly name: string;
  readonly shape: Shape;
}

export function sumOf(
  a: Term,
  b: Term,
  { dtype, shape }: Pick<Value, "dtype" | "shape">,
  writer: TfWriter,
): string {
  if (sameDimensions(a.shape, b.shape)) return emitT("AddV2", [a.name, b.name], dtype, writer);
  if (sameDimensions(a.shape, shape)) return spreadOver(a, narrowed(b, dtype, writer), dtype, writer);
  if (sameDimensions(b.shape, shape)) return spreadOver(b, narrowed(a, dtype, writer), dtype, writer);
  const [x, y] = [narrowed(a, dtype, writer), narrowed(b, dtype, writer)];
  const [long, short] = x.shape.length < y.shape.length ? [y, x] : [x, y];
  const sum = spreadOver(long, short, dtype, writer);
  return reshape(sum, dtype, shape.slice(-long.shape.length), shape, writer);
}

/**
 * The engine adds the same row to every row fastest as a BiasAdd. After a product, the optimizer fuses it with the
 * product, and so rounds halves once where the graph says twice.
 */
function spreadOver(long: Term, short: Term, dtype: DType, writer: TfWriter): string {
  const isRow = long.shape.length > 1 && short.shape.length === 1 && short.shape[0] === long.shape.at(-1);
  return emitT(isRow && isComputeFloat(dtype) ? "BiasAdd" : "AddV2", [long.name, short.name], dtype, writer);
}

function narrowed({ name, shape }: Term, dtype: DType, writer: TfWriter): Term {
  const first = shape.findIndex((size) => size !== 1);
  const own = shape.slice(first === -1 ? shape.length - 1 : first);
  return { name: reshape(name, dtype, shape, own, writer), shape: own };
}
