import type { CastReport, Precision, QuantizationRule } from "@mp/core";
import { byteLength, type Graph, PRODUCT_OPS, type Value } from "@mp/core/graph";

const OF_FLOAT32 = 32;

/** Bits of an element with its part of a block's scale. The scale of a row or a tensor is not counted. */
function bitsOf({ format, granularity = "tensor", scale }: QuantizationRule): number {
  const sides = granularity.match(/\d+/g) ?? [];
  const block = sides.reduce((size, side) => size * Number(side), 1);
  const ofScale = scale?.format === "f32" ? OF_FLOAT32 : 8;
  return (format === "e2m1" ? 4 : 8) + (sides.length === 0 ? 0 : ofScale / block);
}

/**
 * Counts the bytes that the products of a microbatch read, forward and backward, outside of loops: both operands and the
 * gradient of the result, each once, as wide as a processor with such products would read them.
 */
export function operandBytes<B>(
  training: { readonly precision: Precision; graph(batch: B): Graph; explain(batch: B): CastReport },
  batch: B,
): number {
  const { recipe } = training.precision;
  const rules = recipe !== undefined && "rules" in recipe ? recipe.rules : undefined;
  const inGraph = new Map(training.graph(batch).nodes.map((node) => [node.name, node]));
  const bytes = training.explain(batch).nodes.flatMap(({ node, op, quantized }) => {
    const product = inGraph.get(node);
    if (product === undefined || !(PRODUCT_OPS as readonly string[]).includes(op)) return [];
    return [...product.inputs.slice(0, 2), product.outputs[0] as Value].map((value, index) => {
      const role = quantized?.operands[index]?.role;
      const share = role === undefined || rules === undefined ? 1 : bitsOf(rules[role]) / OF_FLOAT32;
      return byteLength(value) * share;
    });
  });
  return bytes.reduce((sum, each) => sum + each, 0);
}
