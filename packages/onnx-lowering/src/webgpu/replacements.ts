/** Replacements, by dtype, for ONNX's operators without a kernel in ONNX Runtime's WebGPU provider. */
import { carried } from "./carried.js";
import { convolutions } from "./convolution.js";
import type { Replacement, Replacements } from "./kernel-writer.js";
import { logic } from "./logic.js";
import { numbers } from "./numbers.js";

/** The first that replaces the node. */
function joined(...tables: readonly Replacements[]): Replacements {
  const ops = new Set(tables.flatMap(Object.keys));
  const firstOf =
    (op: string): Replacement =>
    (emission, writer) => {
      for (const table of tables) {
        const replaced = table[op]?.(emission, writer);
        if (replaced !== undefined) return replaced;
      }
      return undefined;
    };
  return Object.fromEntries([...ops].map((op) => [op, firstOf(op)]));
}

export const replacements: Replacements = joined(carried, convolutions, logic, numbers);
