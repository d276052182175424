import type { Emitter } from "./emitter.js";
import { type Operand, range, rankOf } from "./operand.js";
import { listText, typeText } from "./tensor-type.js";

/** Its operand, whose elements lie in a GPU's memory in the order of its axes. Processors know no other order. */
export function rowMajor(emitter: Emitter, x: Operand): Operand {
  if (!emitter.isForOneGpu) return x;
  const [type, order] = [typeText(x.type), listText(range(rankOf(x)).toReversed())];
  const layouts = `[dense<${order}> : tensor<${rankOf(x)}xindex>]`;
  return emitter.emit(
    `stablehlo.custom_call @LayoutConstraint(${x.name}) {operand_layouts = ${layouts}, result_layouts = ${layouts}} : (${type}) -> ${type}`,
    x.type,
  );
}
