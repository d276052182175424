/** `@mp/nn/safetensors`: loads weights with other frameworks' names and layouts from files, on Node only. */
import { hideFromOrigins } from "@mp/graph/internal";

hideFromOrigins(import.meta.url);

export { type LikeModel, type LoadSafetensorsOptions, loadSafetensors } from "./load-safetensors.js";
export type { Renaming } from "./renaming.js";
export type { WeightMismatch, WeightsReport } from "./report.js";
