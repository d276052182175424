import type { Op } from "../../graph/attributes.js";
import { attentionGradients } from "./attention.js";
import { batchNormalizationGradients } from "./batch-normalization.js";
import { binaryGradients } from "./binary.js";
import { convolutionGradients } from "./convolution.js";
import { indexingGradients } from "./indexing.js";
import { loopGradients } from "./loop.js";
import { lossGradients } from "./loss.js";
import { matrixGradients } from "./matrix.js";
import { movementGradients } from "./movement.js";
import { normalizationGradients } from "./normalization.js";
import { poolingGradients } from "./pooling.js";
import { reduceGradients } from "./reduce.js";
import type { GradientTable } from "./rule.js";
import { sourceGradients } from "./source.js";
import { unaryGradients } from "./unary.js";

/** The gradient of every op, written in traced operators, so that gradients can be differentiated, too. */
export const gradientRules: GradientTable<Op> = {
  ...unaryGradients,
  ...binaryGradients,
  ...matrixGradients,
  ...attentionGradients,
  ...convolutionGradients,
  ...reduceGradients,
  ...poolingGradients,
  ...normalizationGradients,
  ...batchNormalizationGradients,
  ...lossGradients,
  ...movementGradients,
  ...indexingGradients,
  ...loopGradients,
  ...sourceGradients,
};
