/** Lowerings for ONNX Runtime's WebGPU provider, which nothing may leave for the processor. */
import type { GraphNode } from "@mp/core/graph";
import { type Lowering, type LowerNode, type NodeWriter, standardLowerings } from "@mp/onnx/write";
import { inDType, type Surroundings } from "../lowerings/lower-node.js";
import { withoutElements } from "../lowerings/no-elements.js";
import type { OwnLowering } from "../lowerings/own-lowering.js";
import type { Target } from "../lowerings/target.js";
import { KernelWriter } from "./kernel-writer.js";
import type { KnownType } from "./known-types.js";
import { webgpuLowerings } from "./own-lowerings.js";
import { replacements } from "./replacements.js";

/** Lowers nodes for that provider. */
export function lowerWebgpuNodes(target: Target, surroundings: Surroundings): LowerNode {
  const own = webgpuLowerings(target, surroundings);
  const known = new Map<string, KnownType>();
  // One for each graph of the model: values that are made once are found by their writer.
  const writers = new WeakMap<NodeWriter, KernelWriter>();
  return (node, operands, plain: NodeWriter) => {
    const writer = writers.get(plain) ?? new KernelWriter(plain, known, replacements);
    writers.set(plain, writer);
    writer.know(node.inputs, operands);
    const standard = (other: GraphNode, names: readonly string[]): readonly string[] =>
      (standardLowerings[other.op] as Lowering)(other, names, writer);
    const ownly = own[node.op] as OwnLowering | undefined;
    const results =
      withoutElements(node, writer) ??
      ownly?.(node as GraphNode, operands, writer, (others, as) =>
        standard((as === undefined ? node : inDType(node, as)) as GraphNode, others),
      ) ??
      standard(node as GraphNode, operands);
    writer.know(node.outputs, results);
    return results;
  };
}
