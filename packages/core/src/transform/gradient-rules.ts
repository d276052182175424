import type { Op } from "../graph/attributes.js";
import { attentionGradients } from "./gradient-rules/attention.js";
import { batchNormalizationGradients } from "./gradient-rules/batch-normalization.js";
import { binaryGradients } from "./gradient-rules/binary.js";
import { convolutionGradients } from "./gradient-rules/convolution.js";
import { indexingGradients } from "./gradient-rules/indexing.js";
import { loopGradients } from "./gradient-rules/loop.js";
import { lossGradients } from "./gradient-rules/loss.js";
import { matrixGradients } from "./gradient-rules/matrix.js";
import { movementGradients } from "./gradient-rules/movement.js";
import { normalizationGradients } from "./gradient-rules/normalization.js";
import { poolingGradients } from "./gradient-rules/pooling.js";
import { reduceGradients } from "./gradient-rules/reduce.js";
import type { GradientTable } from "./gradient-rules/rule.js";
import { sourceGradients } from "./gradient-rules/source.js";
import { unaryGradients } from "./gradient-rules/unary.js";

/** The gradient of every op, written in the traced operators, so that gradients have gradients too. */
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
