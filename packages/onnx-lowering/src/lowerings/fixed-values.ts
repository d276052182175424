/** Values that are constant for the engine's own optimizer. */
import type { Graph, Value } from "@mp/graph";
import { at, type OwnLowering, operandType } from "./own-lowering.js";

export type FixedValues = ReadonlySet<Value>;

/** Finds the values that depend only on constants and the named inputs; empty if no input is named. */
export function fixedValues({ inputs, nodes }: Graph, names: ReadonlySet<string>): FixedValues {
  const fixed = new Set<Value>();
  if (names.size === 0) return fixed;
  for (const { name, value } of inputs) if (names.has(name)) fixed.add(value);
  for (const node of nodes) {
    if (!node.inputs.every((value) => fixed.has(value))) continue;
    for (const output of node.outputs) fixed.add(output);
  }
  return fixed;
}

/** Writes x - c as x + (-c), which has the same bits, because the optimizer folds only Add into convolutions. */
export const differenceAsSum =
  (fixed: FixedValues): OwnLowering<"Sub"> =>
  (node, operands, writer) => {
    const [, subtrahend] = node.inputs;
    if (subtrahend === undefined || !fixed.has(subtrahend) || operandType(node).dtype !== "f32")
      return undefined;
    return [writer.one("Add", [at(operands, 0), writer.one("Neg", [at(operands, 1)])])];
  };
