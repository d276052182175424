import { type DType, isHalf, type Shape, type ValueType } from "@mp/graph";
import type { Emitter } from "./emitter.js";
import { count, dtypeOf, type Operand, shapeOf, sizeOf } from "./operand.js";
import type { ProductAxes } from "./operations.js";
import { listText, namesText, typesText, typeText } from "./tensor-type.js";

/** Fewest rows and columns of a product for which a GPU uses its matrix units. */
const TILE = 16;

/**
 * Emits a product. The result's axes are the batch axes, the free axes of `a`, then the free axes of `b`. Products of
 * half dtypes are summed in f32 and rounded once to `dtype`. A GPU's matrix units do this whatever the result's dtype.
 * Everywhere else XLA would sum in the result's dtype, so the product is emitted with an f32 result, which is then
 * cast.
 */
export function dot(
  emitter: Emitter,
  a: Operand,
  b: Operand,
  { batch, summed }: ProductAxes,
  dtype: DType,
): Operand {
  const free = (x: Operand, side: 0 | 1): Shape =>
    shapeOf(x).filter((_, axis) => !batch[side].includes(axis) && !summed[side].includes(axis));
  const [rows, columns] = [free(a, 0), free(b, 1)];
  const shape = [...batch[0].map((axis) => sizeOf(a, axis)), ...rows, ...columns];
  const isTiled = emitter.isForOneGpu && Math.min(count(rows), count(columns)) >= TILE;
  const sums = isTiled ? dtype : "f32";
  const type: ValueType = { dtype: isHalf(dtypeOf(a)) ? sums : dtypeOf(a), shape };
  const pair = ([left, right]: ProductAxes["batch"]): string => `${listText(left)} x ${listText(right)}`;
  const shared = batch[0].length === 0 ? "" : `batching_dims = ${pair(batch)}, `;
  const precision = emitter.isExact(a) ? ", precision = [HIGHEST, HIGHEST]" : "";
  const product = emitter.emit(
    `stablehlo.dot_general ${namesText([a, b])}, ${shared}contracting_dims = ${pair(summed)}${precision} : (${typesText([a, b])}) -> ${typeText(type)}`,
    type,
  );
  return emitter.convert(product, dtype);
}
