/** Lowers nodes by the lowering for an engine where there is one, else in the standard form. */
import { type AnyNode, type DType, decidingDType, type GraphNode, type Value } from "@mp/graph";
import type { LowerNode } from "@mp/onnx/write";
import type { ConstantOf } from "./division.js";
import type { FixedValues } from "./fixed-values.js";
import { lowerWithoutElements } from "./no-elements.js";
import type { OwnLowering, OwnLowerings } from "./own-lowering.js";
import type { Unswapped } from "./transposed-products.js";

/** Returns the node that computes a value; undefined for inputs. */
export type ProducerOf = (value: Value) => AnyNode | undefined;

/** Facts about the surrounding graph that lowering a node needs. */
export interface Surroundings {
  readonly constantOf: ConstantOf;
  readonly producerOf: ProducerOf;
  readonly unswapped: Unswapped;
  readonly fixed: FixedValues;
}

/**
 * Lowers nodes without elements to constants, others by their lowering in `own`, or else the standard one.
 * @param checked ops whose operands the engine must check even if there is nothing to compute
 */
export const lowerOwn =
  (own: OwnLowerings, checked?: ReadonlySet<string>): LowerNode =>
  (node, operands, writer, standard) =>
    lowerWithoutElements(node, writer, checked) ??
    (own[node.op] as OwnLowering | undefined)?.(node as GraphNode, operands, writer, (others, as) =>
      standard(as === undefined ? node : inDType(node, as), others),
    ) ??
    standard(node, operands);

/** The node with `dtype` wherever an input or output has the dtype of `decidingDType`. */
export function inDType(node: AnyNode, dtype: DType): AnyNode {
  const before = decidingDType(node);
  const inThatDType = <V extends { readonly dtype: DType }>(value: V): V =>
    value.dtype === before ? { ...value, dtype } : value;
  return { ...node, inputs: node.inputs.map(inThatDType), outputs: node.outputs.map(inThatDType) } as AnyNode;
}
