import type { Op } from "@mp/core/graph";
import { attentionSamples } from "./attention-samples.js";
import { batchNormalizationSamples } from "./batch-normalization-samples.js";
import { binarySamples } from "./binary-samples.js";
import { convolutionSamples } from "./convolution-samples.js";
import { indexingSamples } from "./indexing-samples.js";
import { loopSamples } from "./loop-samples.js";
import { lossSamples } from "./loss-samples.js";
import { matrixSamples } from "./matrix-samples.js";
import { movementSamples } from "./movement-samples.js";
import { normalizationSamples } from "./normalization-samples.js";
import type { OpRows } from "./op-sample.js";
import { poolingSamples } from "./pooling-samples.js";
import { reduceSamples } from "./reduce-samples.js";
import { sourceSamples } from "./source-samples.js";
import { unarySamples } from "./unary-samples.js";

/** The table is total: a new op does not compile until it has samples. */
export const opSamples: OpRows<Op> = {
  ...unarySamples,
  ...binarySamples,
  ...matrixSamples,
  ...attentionSamples,
  ...convolutionSamples,
  ...reduceSamples,
  ...normalizationSamples,
  ...lossSamples,
  ...poolingSamples,
  ...batchNormalizationSamples,
  ...movementSamples,
  ...indexingSamples,
  ...loopSamples,
  ...sourceSamples,
};
