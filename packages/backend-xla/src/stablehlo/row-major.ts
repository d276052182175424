import type { Emitter } from "./emitter.js";
import { type Operand, range, rankOf } from "./operand.js";
import { listText, typeText } from "./tensor-type.js";

/** Keeps `x` in row-major order in the memory of one GPU. The CPU compiler always uses this order. */
export function rowMajor(emitter: Emitter, x: Operand): Operand {
  if (!emitter.isForOneGpu) return x;
  const [type, order] = [typeText(x.type), listText(range(rankOf(x)).toReversed())];
  const layouts = `[dense<${order}> : tensor<${rankOf(x)}xindex>]`;
  return emitter.emit(
    `stablehlo.custom_call @LayoutConstraint(${x.name}) {operand_layouts = ${layouts}, result_layouts = ${layouts}} : (${type}) -> ${type}`,
    x.type,
  );
}
