import type { CustomRule, Op } from "../../graph/attributes.js";
import type { AnyNode, Value } from "../../graph/graph.js";
import { cast } from "../../trace/ops/unary.js";
import { Tensor } from "../../trace/tensor.js";
import { currentBuilder } from "../../trace/trace.js";
import { type GradientRule, gradientDType } from "./rule.js";

/** Values whose gradients a node's rule takes: the node's outputs or, for a custom rule, the function's results. */
export function customResults({ inputs, outputs, origin: { custom } }: AnyNode): readonly Value[] {
  return custom === undefined ? outputs : inputs.slice(0, custom.results);
}

/**
 * The node that carries the rule, for each value with a custom gradient. Code that copies the value must copy the
 * node, too, for a gradient of the gradient.
 */
export function customRules(nodes: readonly AnyNode[]): ReadonlyMap<Value, AnyNode> {
  const marked = nodes.filter(({ origin }) => origin.custom !== undefined);
  return new Map(marked.flatMap((node) => customResults(node).map((result) => [result, node] as const)));
}

/**
 * The user's rule, in the dtypes in which it was traced. A casting policy may have changed the forward pass, so the
 * values that the rule reads are cast to those dtypes, and its cotangents are cast back.
 */
export function customGradientRule({ body, results, inputs, closedOver }: CustomRule): GradientRule<Op> {
  return ({ input, gradient, inputTypes, needs, refuse }) => {
    const read = results + inputs + closedOver;
    for (let index = results + inputs; index < read; index++) {
      if (needs(index))
        refuse("a tensor that the function closes over; pass it as an input, or through stopGradient");
    }
    const builder = currentBuilder("customGradient");
    const { origin: here } = builder;
    const operands = body.inputs.map(({ value: { dtype } }, index) => {
      const result = index - (body.inputs.length - results);
      return Tensor.valueIn(
        cast(result < 0 ? input(read + index) : gradient(result), dtype),
        builder,
        "rule",
      );
    });
    const segment = here.segment === undefined ? {} : { segment: here.segment };
    const cotangents = builder.inline(body, operands, (origin) => ({
      ...segment,
      ...origin,
      ...(here.forward === undefined ? {} : { forward: here.forward }),
    }));
    return inputTypes.slice(0, results + inputs).map(({ dtype }, index) => {
      const cotangent = cotangents[index - results];
      return cotangent && cast(Tensor.of(cotangent), gradientDType(dtype));
    });
  };
}
