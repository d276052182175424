import { type AnyNode, FAMILIES, rowsOf } from "@mp/graph";
import { batchNormalizationLowerings } from "./batch-normalization.js";
import { binaryLowerings } from "./binary.js";
import { convolutionLowerings } from "./convolution.js";
import { gatherLowerings } from "./gather.js";
import { loopLowerings } from "./loop.js";
import { lossLowerings } from "./loss.js";
import type { LoweringTable } from "./lowering.js";
import { matrixLowerings } from "./matrix.js";
import { movementLowerings } from "./movement.js";
import { normalizationLowerings } from "./normalization.js";
import { poolingLowerings } from "./pooling.js";
import { reduceLowerings } from "./reduce.js";
import { scatterLowerings } from "./scatter.js";
import { sourceLowerings } from "./source.js";
import { unaryLowerings } from "./unary.js";

/** Lowers every op to raw ops that TensorFlow has since version 2.9. */
export const lowerings: LoweringTable = {
  ...unaryLowerings,
  ...binaryLowerings,
  ...matrixLowerings,
  ...rowsOf(FAMILIES.attention, () => ({ name }: AnyNode) => {
    throw new Error(`internal: ${name} is lowered as products and a softmax`);
  }),
  ...convolutionLowerings,
  ...reduceLowerings,
  ...normalizationLowerings,
  ...poolingLowerings,
  ...batchNormalizationLowerings,
  ...lossLowerings,
  ...movementLowerings,
  ...gatherLowerings,
  ...scatterLowerings,
  ...loopLowerings,
  ...sourceLowerings,
};
