/** `@mp/nn/safetensors`: weights that another framework named and laid out, for layers of this package. It reads files, so it needs Node. */
import { hideFromOrigins } from "@mp/graph/internal";

hideFromOrigins(import.meta.url);

export { type LikeModel, type LoadSafetensorsOptions, loadSafetensors } from "./load-safetensors.js";
export type { Renaming } from "./renaming.js";
export type { WeightMismatch, WeightsReport } from "./report.js";
