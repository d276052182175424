import type { Op } from "@mp/core/graph";
import { attentionSizes } from "./attention-sizes.js";
import { batchNormalizationSizes } from "./batch-normalization-sizes.js";
import { binarySizes } from "./binary-sizes.js";
import { convolutionSizes } from "./convolution-sizes.js";
import { indexingSizes } from "./indexing-sizes.js";
import { loopSizes } from "./loop-sizes.js";
import { lossSizes } from "./loss-sizes.js";
import { matrixSizes } from "./matrix-sizes.js";
import { movementSizes } from "./movement-sizes.js";
import { normalizationSizes } from "./normalization-sizes.js";
import { poolingSizes } from "./pooling-sizes.js";
import { reduceSizes } from "./reduce-sizes.js";
import type { SizeRows } from "./size-row.js";
import { sourceSizes } from "./source-sizes.js";
import { unarySizes } from "./unary-sizes.js";

/** The table is total: a new op does not compile until it has been tested at large sizes. */
export const sizeSamples: SizeRows<Op> = {
  ...unarySizes,
  ...binarySizes,
  ...matrixSizes,
  ...reduceSizes,
  ...attentionSizes,
  ...convolutionSizes,
  ...poolingSizes,
  ...normalizationSizes,
  ...lossSizes,
  ...batchNormalizationSizes,
  ...movementSizes,
  ...indexingSizes,
  ...loopSizes,
  ...sourceSizes,
};
