import type { ValueType } from "@mp/graph";
import type { Emitter } from "./emitter.js";
import { dtypeOf, type Operand, shapeOf } from "./operand.js";
import { arrayText, namesText, typesText, typeText } from "./tensor-type.js";

/**
 * Sums each operand along the same axes, which are removed. All operands have one type. XLA makes two kernels of a long
 * sum, and also only two of several sums in one operation.
 */
export function sumTogether(
  emitter: Emitter,
  operands: readonly Operand[],
  axes: readonly number[],
): readonly Operand[] {
  if (!emitter.isForOneGpu) return operands.map((x) => emitter.reduce("add", x, axes));
  const all = [...operands, ...operands.map((x) => emitter.splat(dtypeOf(x), 0))];
  const scalars = all.map((x) => ({ dtype: dtypeOf(x), shape: [] }));
  const body = emitter.region(scalars, (args) =>
    operands.map((_, at) =>
      emitter.binary("add", args[at] as Operand, args[operands.length + at] as Operand),
    ),
  );
  const types = operands.map((x): ValueType => {
    return { dtype: dtypeOf(x), shape: shapeOf(x).filter((_, axis) => !axes.includes(axis)) };
  });
  return emitter.emitMany(
    `"stablehlo.reduce"(${namesText(all)}) <{dimensions = ${arrayText(axes)}}> (${body}) : (${typesText(all)}) -> (${types.map(typeText).join(", ")})`,
    types,
  );
}
