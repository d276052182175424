import type { OpOf } from "../../graph/families.js";
import type { GradientTable } from "./rule.js";

const SOURCE = { zero: "it has no float operands" };

export const sourceGradients: GradientTable<OpOf<"source">> = {
  Constant: SOURCE,
  Range: SOURCE,
  RandomBits: SOURCE,
  // The other operands only decide when the first may be read.
  Barrier: ({ gradient }) => [gradient(0)],
};
