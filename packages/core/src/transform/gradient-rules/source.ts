import type { GradientTable } from "./rule.js";

const SOURCE = { zero: "it has no float operands" };

export const sourceGradients: GradientTable<"Constant" | "Range" | "RandomBits" | "Barrier"> = {
  Constant: SOURCE,
  Range: SOURCE,
  RandomBits: SOURCE,
  // Only its first operand is data; the rest say when it may be read.
  Barrier: ({ gradient }) => [gradient(0)],
};
