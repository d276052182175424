/** `@mp/nn/safetensors`: loads weights with another framework's names and layouts, from files and so on Node. */
import { hideFromOrigins } from "@mp/graph/internal";

hideFromOrigins(import.meta.url);

export { type LikeModel, type LoadSafetensorsOptions, loadSafetensors } from "./load-safetensors.js";
export type { Renaming } from "./renaming.js";
export type { WeightMismatch, WeightsReport } from "./report.js";
