import type { LoweringTable } from "../graph/tf-writer.js";
import { attentionLowerings } from "./attention.js";
import { batchNormalizationLowerings } from "./batch-normalization.js";
import { binaryLowerings } from "./binary.js";
import { convolutionLowerings } from "./convolution.js";
import { indexingLowerings } from "./indexing.js";
import { loopLowerings } from "./loop.js";
import { lossLowerings } from "./loss.js";
import { matrixLowerings } from "./matrix.js";
import { movementLowerings } from "./movement.js";
import { normalizationLowerings } from "./normalization.js";
import { poolingLowerings } from "./pooling.js";
import { reduceLowerings } from "./reduce.js";
import { sourceLowerings } from "./source.js";
import { unaryLowerings } from "./unary.js";

/** Every op of the vocabulary as raw ops that TensorFlow has had since 2.9. */
export const lowerings: LoweringTable = {
  ...unaryLowerings,
  ...binaryLowerings,
  ...matrixLowerings,
  ...attentionLowerings,
  ...convolutionLowerings,
  ...reduceLowerings,
  ...normalizationLowerings,
  ...poolingLowerings,
  ...batchNormalizationLowerings,
  ...lossLowerings,
  ...movementLowerings,
  ...indexingLowerings,
  ...loopLowerings,
  ...sourceLowerings,
};
