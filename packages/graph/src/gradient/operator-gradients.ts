import type { Op, OpAttributes } from "../graph/attributes.js";
import { GraphBuilder } from "../graph/build/builder.js";
import type { Value } from "../graph/graph.js";
import { Tensor } from "../trace/tensor.js";
import { currentBuilder } from "../trace/trace.js";
import { emitGradient } from "./gradient.js";

/**
 * Emits the gradients of an operator's operands (floats), given that of its one result, without the operator itself.
 * The operator's gradient must not depend on its result.
 */
export function operatorGradients<K extends Op>(
  op: K,
  attributes: OpAttributes[K],
  operands: readonly Tensor[],
  gradient: Tensor,
): readonly Tensor[] {
  const builder = currentBuilder(op);
  const alone = new GraphBuilder();
  const wrt = operands.map((type, index) => alone.input(String(index), type, "capture"));
  const result = alone.emitOne(op, wrt, attributes, builder.origin);
  const given = operands.map((operand): Value => Tensor.valueIn(operand, builder, op));
  const gradients = emitGradient(builder, {
    graph: alone.finish({ result }),
    values: new Map(wrt.map((value, index) => [value, given[index] as Value])),
    names: new Map(),
    seeds: [[result, Tensor.valueIn(gradient, builder, op)]],
    wrt,
  });
  return gradients.map(({ value }) => Tensor.of(value));
}
