/**
 * Adds two values, one of which may be broadcast to the other. Leading axes of size 1 are removed, because TensorFlow's
 * optimizer fuses a product with a row that is added to it, and not all fused kernels accept the row as [1, n].
 */
import { isComputeFloat, type Shape, sameShape } from "@mp/graph";
import type { Term } from "../graph/term.js";

export function sum(a: Term, b: Term, shape: Shape): Term {
  if (sameShape(a.shape, b.shape)) return a.add(b);
  if (sameShape(a.shape, shape)) return addToEach(a, withoutLeadingOnes(b));
  if (sameShape(b.shape, shape)) return addToEach(b, withoutLeadingOnes(a));
  const [x, y] = [withoutLeadingOnes(a), withoutLeadingOnes(b)];
  const [long, short] = x.shape.length < y.shape.length ? [y, x] : [x, y];
  return addToEach(long, short).reshape(shape);
}

/**
 * Adds `short` to `long`; a row is added to every row by BiasAdd, the fastest op. The optimizer fuses BiasAdd
 * with a product before it, and so rounds half dtypes once where the graph says twice.
 */
function addToEach(long: Term, short: Term): Term {
  const isRow = long.shape.length > 1 && short.shape.length === 1 && short.shape[0] === long.shape.at(-1);
  return long.op(isRow && isComputeFloat(long.dtype) ? "BiasAdd" : "AddV2", short);
}

function withoutLeadingOnes(term: Term): Term {
  const { shape } = term;
  const first = shape.findIndex((size) => size !== 1);
  return term.reshape(shape.slice(first === -1 ? shape.length - 1 : first));
}
