import { scatterKeepingNaN } from "./nan.js";
import { at, firstOf, type OwnLowering, type OwnLoweringsOf, operandType } from "./own-lowering.js";
import { scatterInOrder } from "./scatter-in-order.js";
import type { Target } from "./target.js";

/** The engine requires at least one dimension. */
const oneHot: OwnLowering<"OneHot"> = (node, operands, writer, standard) => {
  if (operandType(node).shape.length > 0) return undefined;
  const [hot = ""] = standard([writer.one("Reshape", [at(operands, 0), writer.ints([1])])]);
  return [writer.one("Reshape", [hot, writer.ints([node.attributes.depth])])];
};

export const indexingLowerings = ({ device }: Target): OwnLoweringsOf<"indexing"> => ({
  ScatterElements: scatterKeepingNaN,
  ScatterND: device === "cpu" ? firstOf(scatterKeepingNaN, scatterInOrder) : scatterKeepingNaN,
  OneHot: oneHot,
});
