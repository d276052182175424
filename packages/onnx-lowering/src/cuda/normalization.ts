import { layerNormalization, withWholeParameters } from "../lowerings/normalization.js";
import type { OwnLoweringsOf } from "../lowerings/own-lowering.js";

export const normalizationLowerings: OwnLoweringsOf<"normalization"> = {
  LayerNormalization: layerNormalization,
  RMSNormalization: (node, operands, writer, standard) =>
    standard(withWholeParameters(node, operands, writer)),
};
