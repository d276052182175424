import type { Emitter } from "./emitter.js";
import { dtypeOf, type Operand, shapeOf } from "./operand.js";
import { arrayText, namesText, typesText } from "./tensor-type.js";

/**
 * The sum of each operand, all of one type, along the same axes, which the results have no more. XLA makes two kernels
 * of a long sum, and no more than two of several in one operation.
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
  const results = operands.map((x): Operand => {
    const shape = shapeOf(x).filter((_, axis) => !axes.includes(axis));
    return { name: x.name, type: { dtype: dtypeOf(x), shape } };
  });
  return emitter.emitMany(
    `"stablehlo.reduce"(${namesText(all)}) <{dimensions = ${arrayText(axes)}}> (${body}) : (${typesText(all)}) -> (${typesText(results)})`,
    results.map(({ type }) => type),
  );
}
