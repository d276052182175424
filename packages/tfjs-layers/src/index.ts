import { hideFromOrigins } from "@mp/graph/internal";

hideFromOrigins(import.meta.url);

export { type FromTfjsOptions, fromTfjs } from "./read/from-tfjs.js";
export type { TfjsContext, TfjsModel, TfjsTensors, TracedTfjsTensors } from "./read/tfjs-model.js";
