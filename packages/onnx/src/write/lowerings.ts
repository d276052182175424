import { batchNormalizationLowerings } from "./batch-normalization.js";
import { convolutionLowerings } from "./convolution.js";
import { elementwiseLowerings } from "./elementwise.js";
import type { LoweringTable } from "./lowering.js";
import { movementLowerings } from "./movement.js";
import { normalizationLowerings } from "./normalization.js";
import { poolingLowerings } from "./pooling.js";
import { reduceLowerings } from "./reduce.js";
import { sourceLowerings } from "./source.js";

/** Every op of the vocabulary as standard ONNX of opset 23, in every dtype that the graph allows it. */
export const standardLowerings: LoweringTable = {
  ...elementwiseLowerings,
  ...convolutionLowerings,
  ...reduceLowerings,
  ...poolingLowerings,
  ...normalizationLowerings,
  ...batchNormalizationLowerings,
  ...movementLowerings,
  ...sourceLowerings,
};
