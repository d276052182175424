import type { Op } from "../graph/attributes.js";
import type { ReferenceTable } from "./elements/kernel.js";
import { attentionKernels } from "./kernels/attention.js";
import { batchNormalizationKernels } from "./kernels/batch-normalization.js";
import { binaryKernels } from "./kernels/binary.js";
import { convolutionKernels } from "./kernels/convolution.js";
import { indexingKernels } from "./kernels/indexing.js";
import { loopKernels } from "./kernels/loop.js";
import { lossKernels } from "./kernels/loss.js";
import { matrixKernels } from "./kernels/matrix.js";
import { movementKernels } from "./kernels/movement.js";
import { normalizationKernels } from "./kernels/normalization.js";
import { poolingKernels } from "./kernels/pooling.js";
import { reduceKernels } from "./kernels/reduce.js";
import { sourceKernels } from "./kernels/source.js";
import { unaryKernels } from "./kernels/unary.js";

/** The definition of every op. An engine whose results have other bits declares this in its manifest. */
export const referenceKernels: ReferenceTable<Op> = {
  ...unaryKernels,
  ...binaryKernels,
  ...matrixKernels,
  ...attentionKernels,
  ...convolutionKernels,
  ...reduceKernels,
  ...poolingKernels,
  ...normalizationKernels,
  ...batchNormalizationKernels,
  ...lossKernels,
  ...movementKernels,
  ...indexingKernels,
  ...loopKernels,
  ...sourceKernels,
};
