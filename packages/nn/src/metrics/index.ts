/**
 * `@mp/nn/metrics`: metrics of a whole data set, for the option `metrics` of a trainer's `evaluateAll`.
 * `@mp/nn` has the metrics of one batch, as tensors.
 */
import { hideFromOrigins } from "@mp/graph/internal";

hideFromOrigins(import.meta.url);

export {
  accuracy,
  confusionMatrix,
  type PrecisionRecall,
  type PrecisionRecallOptions,
  perplexity,
  precisionRecall,
  topKAccuracy,
} from "./classes.js";
export { averagePrecision, type BinaryOptions, binaryPrecisionRecall, rocAuc } from "./events.js";
export type { ClassOptions, WeightOptions } from "./parts.js";
export { mean, meanAbsoluteError, meanSquaredError, rSquared } from "./values.js";
