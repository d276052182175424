import { elementwiseOptions } from "./elementwise-options.js";
import { loopOptions } from "./loop-options.js";
import { normalizationOptions } from "./normalization-options.js";
import { productOptions } from "./product-options.js";
import type { OptionOp, OptionRows } from "./setting.js";
import { sourceOptions } from "./source-options.js";
import { windowOptions } from "./window-options.js";

/** The table is total: an op with a new attribute does not compile until its values are listed. */
export const optionSamples: OptionRows<OptionOp> = {
  ...elementwiseOptions,
  ...productOptions,
  ...windowOptions,
  ...normalizationOptions,
  ...sourceOptions,
  ...loopOptions,
};
