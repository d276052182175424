/**
 * Lowerings for nodes where ONNX Runtime's kernels differ from the vocabulary, are missing, or are slower than another
 * form.
 */
import type { DType } from "@mp/core";
import { type AnyNode, decidingDType, type GraphNode, type Value } from "@mp/core/graph";
import type { LowerNode } from "@mp/onnx/write";
import { binaryLowerings } from "./binary.js";
import { convolutionLowerings } from "./convolution.js";
import type { ConstantOf } from "./division.js";
import type { FixedValues } from "./fixed-values.js";
import { indexingLowerings } from "./indexing.js";
import { lossLowerings } from "./loss.js";
import { matrixLowerings } from "./matrix.js";
import { movementLowerings } from "./movement.js";
import { withoutElements } from "./no-elements.js";
import { firstOfEach, type OwnLowering, type OwnLowerings } from "./own-lowering.js";
import { poolingLowerings } from "./pooling.js";
import { reduceLowerings } from "./reduce.js";
import { sourceLowerings } from "./source.js";
import type { Target } from "./target.js";
import type { Unswapped } from "./transposed-products.js";
import { unaryLowerings } from "./unary.js";

/** The operator that computes a value, if one does. */
export type ProducerOf = (value: Value) => AnyNode | undefined;

/** Facts about the graph around a node that its lowering needs. */
export interface Surroundings {
  readonly constantOf: ConstantOf;
  readonly producerOf: ProducerOf;
  readonly unswapped: Unswapped;
  readonly fixed: FixedValues;
}

/** The lowerings for ONNX Runtime's kernels on the processor. */
export const ownLowerings = (
  target: Target,
  { constantOf, unswapped, fixed }: Surroundings,
): OwnLowerings => ({
  ...unaryLowerings(target),
  ...binaryLowerings(target, constantOf, fixed),
  ...matrixLowerings(target, unswapped),
  ...convolutionLowerings(target),
  ...reduceLowerings,
  ...poolingLowerings,
  ...lossLowerings,
  ...movementLowerings(unswapped),
  ...indexingLowerings(target),
  ...sourceLowerings,
});

/** Lowers nodes for that engine; `device` is asked first, for what its kernels need in another form. */
export function lowerNodes(target: Target, surroundings: Surroundings, device: OwnLowerings = {}): LowerNode {
  const own = firstOfEach(device, ownLowerings(target, surroundings));
  return (node, operands, writer, standard) => {
    const nothing = withoutElements(node, writer);
    if (nothing !== undefined) return nothing;
    const ownly = own[node.op] as OwnLowering | undefined;
    const results = ownly?.(node as GraphNode, operands, writer, (others, as) =>
      standard(as === undefined ? node : inDType(node, as), others),
    );
    return results ?? standard(node, operands);
  };
}

/** The node with another deciding dtype. */
export function inDType(node: AnyNode, dtype: DType): AnyNode {
  const before = decidingDType(node);
  const inThatDType = <V extends { readonly dtype: DType }>(value: V): V =>
    value.dtype === before ? { ...value, dtype } : value;
  return { ...node, inputs: node.inputs.map(inThatDType), outputs: node.outputs.map(inThatDType) } as AnyNode;
}
