/** Lowers nodes in an engine's own forms where it has them. */
import { type AnyNode, type DType, decidingDType, type GraphNode, type Value } from "@mp/graph";
import type { LowerNode } from "@mp/onnx/write";
import type { ConstantOf } from "./division.js";
import type { FixedValues } from "./fixed-values.js";
import { lowerWithoutElements } from "./no-elements.js";
import type { OwnLowering, OwnLowerings } from "./own-lowering.js";
import type { Unswapped } from "./transposed-products.js";

/** The operator that computes a value, if one does. */
export type ProducerOf = (value: Value) => AnyNode | undefined;

/** Facts about the graph around a node that its lowering needs. */
export interface Surroundings {
  readonly constantOf: ConstantOf;
  readonly producerOf: ProducerOf;
  readonly unswapped: Unswapped;
  readonly fixed: FixedValues;
}

/**
 * Lowers a node without elements to constants, and others by their own lowering or else by the standard one.
 * @param checked ops whose operands the engine checks even if there is nothing to compute
 */
export const lowerOwn =
  (own: OwnLowerings, checked?: ReadonlySet<string>): LowerNode =>
  (node, operands, writer, standard) =>
    lowerWithoutElements(node, writer, checked) ??
    (own[node.op] as OwnLowering | undefined)?.(node as GraphNode, operands, writer, (others, as) =>
      standard(as === undefined ? node : inDType(node, as), others),
    ) ??
    standard(node, operands);

/** The node with another deciding dtype. */
export function inDType(node: AnyNode, dtype: DType): AnyNode {
  const before = decidingDType(node);
  const inThatDType = <V extends { readonly dtype: DType }>(value: V): V =>
    value.dtype === before ? { ...value, dtype } : value;
  return { ...node, inputs: node.inputs.map(inThatDType), outputs: node.outputs.map(inThatDType) } as AnyNode;
}
