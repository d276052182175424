import type { Op } from "@mp/core/graph";
import { convolutionSizes } from "./convolution-sizes.js";
import { elementwiseSizes } from "./elementwise-sizes.js";
import { matrixSizes } from "./matrix-sizes.js";
import { movementSizes } from "./movement-sizes.js";
import { normalizationSizes } from "./normalization-sizes.js";
import { reduceSizes } from "./reduce-sizes.js";
import type { SizeRows } from "./size-row.js";

/** The table is total: a new op does not compile until it has been tested at large sizes. */
export const sizeSamples: SizeRows<Op> = {
  ...elementwiseSizes,
  ...matrixSizes,
  ...reduceSizes,
  ...convolutionSizes,
  ...normalizationSizes,
  ...movementSizes,
};
