import type { GraphNode } from "@mp/core/graph";
import { type Lowering, type LowerNode, type NodeWriter, standardLowerings } from "@mp/onnx/write";
import { inDType } from "../lowerings/lower-node.js";
import { withoutElements } from "../lowerings/no-elements.js";
import type { OwnLowering, OwnLowerings } from "../lowerings/own-lowering.js";
import { KernelWriter, type Replacements } from "./kernel-writer.js";
import type { KnownType } from "./known-types.js";

/**
 * Lowers nodes by own forms, and replaces what these and the standard forms emit.
 * @param checked ops whose operands are checked by the engine even if there is nothing to compute
 */
export function lowerReplacing(
  own: OwnLowerings,
  replacements: Replacements,
  checked?: ReadonlySet<string>,
): LowerNode {
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
      withoutElements(node, writer, checked) ??
      ownly?.(node as GraphNode, operands, writer, (others, as) =>
        standard((as === undefined ? node : inDType(node, as)) as GraphNode, others),
      ) ??
      standard(node as GraphNode, operands);
    writer.know(node.outputs, results);
    return results;
  };
}
