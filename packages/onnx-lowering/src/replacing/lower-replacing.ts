import type { GraphNode } from "@mp/graph";
import { type Lowering, type LowerNode, type NodeWriter, standardLowerings } from "@mp/onnx/write";
import { lowerOwn } from "../lowerings/lower-node.js";
import type { OwnLowerings } from "../lowerings/own-lowering.js";
import { KernelWriter, type Replacements } from "./kernel-writer.js";
import type { KnownType } from "./known-types.js";

/** Lowers nodes by `lowerOwn`, and replaces emitted nodes for which the device has no kernel. */
export function lowerReplacing(
  own: OwnLowerings,
  replacements: Replacements,
  checked?: ReadonlySet<string>,
): LowerNode {
  const known = new Map<string, KnownType>();
  // One KernelWriter for each graph of the model, since values that are emitted once are cached by writer.
  const writers = new WeakMap<NodeWriter, KernelWriter>();
  const lower = lowerOwn(own, checked);
  return (node, operands, plain: NodeWriter) => {
    const writer = writers.get(plain) ?? new KernelWriter(plain, known, replacements);
    writers.set(plain, writer);
    writer.know(node.inputs, operands);
    const results = lower(node, operands, writer, (other, names) =>
      (standardLowerings[other.op] as Lowering)(other as GraphNode, names, writer),
    );
    writer.know(node.outputs, results);
    return results;
  };
}
