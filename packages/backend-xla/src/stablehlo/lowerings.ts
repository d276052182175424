import type { LoweringTable } from "./lowering.js";
import { attentionLowerings } from "./lowerings/attention.js";
import { batchNormalizationLowerings } from "./lowerings/batch-normalization.js";
import { binaryLowerings } from "./lowerings/binary.js";
import { convolutionLowerings } from "./lowerings/convolution.js";
import { indexingLowerings } from "./lowerings/indexing.js";
import { loopLowerings } from "./lowerings/loop.js";
import { lossLowerings } from "./lowerings/loss.js";
import { matrixLowerings } from "./lowerings/matrix.js";
import { movementLowerings } from "./lowerings/movement.js";
import { normalizationLowerings } from "./lowerings/normalization.js";
import { poolingLowerings } from "./lowerings/pooling.js";
import { reduceLowerings } from "./lowerings/reduce.js";
import { sourceLowerings } from "./lowerings/source.js";
import { unaryLowerings } from "./lowerings/unary.js";

/** Every operator as StableHLO. */
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
