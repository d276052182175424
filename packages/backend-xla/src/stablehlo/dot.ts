import { type DType, isHalf, type Shape, type ValueType } from "@mp/graph";
import type { Emitter } from "./emitter.js";
import { count, dtypeOf, type Operand, shapeOf, sizeOf } from "./operand.js";
import type { ProductAxes } from "./operations.js";
import { listText, namesText, typesText, typeText } from "./tensor-type.js";

/** Rows and columns of the least product for a GPU's matrix units. */
const TILE = 16;

/**
 * Sums of products, with the shared axes first, then the others of `a`, then those of `b`. Products of halves are
 * summed in f32 and rounded once, to `dtype`: by matrix units, which sum in f32 whatever they leave, or by a cast, since
 * XLA sums other products in the type of their result.
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
