import { hideFromOrigins } from "@mp/core/internal";

hideFromOrigins(import.meta.url);

export { type FromTfjsOptions, fromTfjs } from "./from-tfjs.js";
export type { TfjsContext, TfjsModel, TfjsTensors, TracedTfjsTensors } from "./tfjs-model.js";
