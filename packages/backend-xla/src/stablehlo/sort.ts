import type { ValueType } from "@mp/graph";
import type { Emitter } from "./emitter.js";
import { dtypeOf, type Operand } from "./operand.js";
import { namesText, typesText } from "./tensor-type.js";

/**
 * Sorts operands of the same shape together along an axis; equal elements keep their order.
 * @param comesBefore emits the comparison of two elements of the first operand
 */
export function stableSort(
  emitter: Emitter,
  operands: readonly Operand[],
  axis: number,
  comesBefore: (a: Operand, b: Operand) => Operand,
): readonly Operand[] {
  const scalars = operands.flatMap((operand): readonly ValueType[] => {
    const scalar = { dtype: dtypeOf(operand), shape: [] };
    return [scalar, scalar];
  });
  const body = emitter.region(scalars, ([a, b]) => (a && b ? [comesBefore(a, b)] : []));
  const types = typesText(operands);
  return emitter.emitMany(
    `"stablehlo.sort"(${namesText(operands)}) <{dimension = ${axis} : i64, is_stable = true}> (${body}) : (${types}) -> (${types})`,
    operands.map(({ type }) => type),
  );
}
