import { scatterKeepingNaN } from "./nan.js";
import { at, type OwnLowering, type OwnLoweringsOf, operandType } from "./own-lowering.js";

/** The engine requires at least one dimension. */
const oneHot: OwnLowering<"OneHot"> = (node, operands, writer, standard) => {
  if (operandType(node).shape.length > 0) return undefined;
  const [hot = ""] = standard([writer.one("Reshape", [at(operands, 0), writer.ints([1])])]);
  return [writer.one("Reshape", [hot, writer.ints([node.attributes.depth])])];
};

export const indexingLowerings: OwnLoweringsOf<"indexing"> = {
  ScatterElements: scatterKeepingNaN,
  ScatterND: scatterKeepingNaN,
  OneHot: oneHot,
};
