import type { Op } from "@mp/core/graph";
import type { GeneratedRows } from "../generated-row.js";
import { attentionTails } from "./attention-tails.js";
import { binaryTails } from "./binary-tails.js";
import { convolutionTails } from "./convolution-tails.js";
import { indexingTails } from "./indexing-tails.js";
import { matrixTails } from "./matrix-tails.js";
import { movementTails } from "./movement-tails.js";
import { batchNormalizationTails, lossTails, normalizationTails } from "./normalization-tails.js";
import { poolingTails } from "./pooling-tails.js";
import { reduceTails } from "./reduce-tails.js";
import { sourceTails } from "./source-tails.js";
import { unaryTails } from "./unary-tails.js";

/** The table is total: a new op does not compile until it has been tested at every length. Casts have their own. */
export const tailSamples: GeneratedRows<Exclude<Op, "Cast">> = {
  ...unaryTails,
  ...binaryTails,
  ...matrixTails,
  ...attentionTails,
  ...convolutionTails,
  ...reduceTails,
  ...poolingTails,
  ...normalizationTails,
  ...batchNormalizationTails,
  ...lossTails,
  ...movementTails,
  ...indexingTails,
  ...sourceTails,
};
