/** Replacements, by dtype, of ONNX operators without a kernel in ONNX Runtime's WebGPU provider. */

import type { Replacement, Replacements } from "../replacing/kernel-writer.js";
import { carried } from "./carried.js";
import { convolutions } from "./convolution.js";
import { logic } from "./logic.js";
import { numbers } from "./numbers.js";

/** Joins tables: of several replacements for an operator, the first that applies is used. */
function join(...tables: readonly Replacements[]): Replacements {
  const ops = new Set(tables.flatMap(Object.keys));
  const firstReplacement =
    (op: string): Replacement =>
    (emission, writer, kernel) => {
      for (const table of tables) {
        const replaced = table[op]?.(emission, writer, kernel);
        if (replaced !== undefined) return replaced;
      }
      return undefined;
    };
  return Object.fromEntries([...ops].map((op) => [op, firstReplacement(op)]));
}

export const replacements: Replacements = join(carried, convolutions, logic, numbers);
