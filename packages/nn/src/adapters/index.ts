/** `@mp/nn/adapters`: low-rank weights that are trained beside a frozen model, in peft's file format. */
import { hideFromOrigins } from "@mp/graph/internal";

hideFromOrigins(import.meta.url);

export type { AdaptableModel, NamedParameters, ReplaceableWeights } from "./adaptable-model.js";
export type { LinearPlace } from "./linear-place.js";
export { type LoadAdapterOptions, type LoadedAdapter, loadAdapter } from "./load-adapter.js";
export { type Lora, type LoraOptions, lora } from "./lora.js";
export { type SaveAdapterOptions, saveAdapter } from "./save-adapter.js";
export type { SavedWeights } from "./saved-weights.js";
export type { Targets } from "./targets.js";
