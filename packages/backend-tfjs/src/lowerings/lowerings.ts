import type { LoweringTable } from "../graph/tf-writer.js";
import { batchNormalizationLowerings } from "./batch-normalization.js";
import { castLowerings } from "./cast.js";
import { comparisonLowerings } from "./comparison.js";
import { convolutionLowerings } from "./convolution.js";
import { elementwiseLowerings } from "./elementwise.js";
import { gatherLowerings } from "./gather.js";
import { lossLowerings } from "./loss.js";
import { matrixLowerings } from "./matrix.js";
import { movementLowerings } from "./movement.js";
import { normalizationLowerings } from "./normalization.js";
import { poolingLowerings } from "./pooling.js";
import { randomLowerings } from "./random.js";
import { reduceLowerings } from "./reduce.js";
import { scatterLowerings } from "./scatter.js";
import { searchLowerings } from "./search.js";
import { sourceLowerings } from "./source.js";

/** Every op of the vocabulary as raw ops that TensorFlow has had since 2.9. */
export const lowerings: LoweringTable = {
  ...elementwiseLowerings,
  ...comparisonLowerings,
  ...castLowerings,
  ...matrixLowerings,
  ...convolutionLowerings,
  ...reduceLowerings,
  ...searchLowerings,
  ...normalizationLowerings,
  ...poolingLowerings,
  ...batchNormalizationLowerings,
  ...lossLowerings,
  ...movementLowerings,
  ...gatherLowerings,
  ...scatterLowerings,
  ...sourceLowerings,
  ...randomLowerings,
};
