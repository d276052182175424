/**
 * Differentiable functions for every op. An op without an entry is a type error, so a new op must say how its gradient
 * is tested.
 */
import type { Op } from "@mp/core/graph";
import type { GradientRows } from "../gradient-sample.js";
import { attentionGradients } from "./attention-gradients.js";
import { batchNormalizationGradients } from "./batch-normalization-gradients.js";
import { binaryGradients } from "./binary-gradients.js";
import { convolutionGradients } from "./convolution-gradients.js";
import { indexingGradients } from "./indexing-gradients.js";
import { loopGradients } from "./loop-gradients.js";
import { lossGradients } from "./loss-gradients.js";
import { matrixGradients } from "./matrix-gradients.js";
import { movementGradients } from "./movement-gradients.js";
import { normalizationGradients } from "./normalization-gradients.js";
import { poolingGradients } from "./pooling-gradients.js";
import { reduceGradients } from "./reduce-gradients.js";
import { sourceGradients } from "./source-gradients.js";
import { unaryGradients } from "./unary-gradients.js";

export const gradientSamples: GradientRows<Op> = {
  ...unaryGradients,
  ...binaryGradients,
  ...matrixGradients,
  ...reduceGradients,
  ...normalizationGradients,
  ...lossGradients,
  ...batchNormalizationGradients,
  ...poolingGradients,
  ...movementGradients,
  ...indexingGradients,
  ...loopGradients,
  ...sourceGradients,
  ...attentionGradients,
  ...convolutionGradients,
};
