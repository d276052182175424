/** Values that the engine's own optimizer knows at compile time. */
import type { Graph, Value } from "@mp/graph";
import { at, type OwnLowering, operandType } from "./own-lowering.js";

export type FixedValues = ReadonlySet<Value>;

/** Finds the values that depend only on constants and the named inputs; none if no input is named. */
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

/** Writes x - c as x + (-c) in f32, with the same bits: the optimizer folds sums into convolutions, not differences. */
export const differenceAsSum =
  (fixed: FixedValues): OwnLowering<"Sub"> =>
  (node, operands, writer) => {
    const [, subtrahend] = node.inputs;
    if (subtrahend === undefined || !fixed.has(subtrahend) || operandType(node).dtype !== "f32")
      return undefined;
    return [writer.one("Add", [at(operands, 0), writer.one("Neg", [at(operands, 1)])])];
  };
