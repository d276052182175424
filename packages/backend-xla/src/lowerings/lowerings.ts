import { attentionLowerings } from "./attention.js";
import { batchNormalizationLowerings } from "./batch-normalization.js";
import { binaryLowerings } from "./binary.js";
import { convolutionLowerings } from "./convolution.js";
import { indexingLowerings } from "./indexing.js";
import { loopLowerings } from "./loop.js";
import { lossLowerings } from "./loss.js";
import type { LoweringTable } from "./lowering.js";
import { matrixLowerings } from "./matrix.js";
import { movementLowerings } from "./movement.js";
import { normalizationLowerings } from "./normalization.js";
import { poolingLowerings } from "./pooling.js";
import { reduceLowerings } from "./reduce.js";
import { sourceLowerings } from "./source.js";
import { unaryLowerings } from "./unary.js";

/** The lowering of every operator to StableHLO. */
export const lowerings: LoweringTable = {
  ...unaryLowerings,
  ...binaryLowerings,
  ...matrixLowerings,
  ...attentionLowerings,
  ...convolutionLowerings,
  ...reduceLowerings,
  ...poolingLowerings,
  ...normalizationLowerings,
  ...batchNormalizationLowerings,
  ...lossLowerings,
  ...movementLowerings,
  ...indexingLowerings,
  ...loopLowerings,
  ...sourceLowerings,
};
