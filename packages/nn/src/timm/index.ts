/** `@mp/nn/timm`: models of timm by their names, with its weights, on Node only. */
import { hideFromOrigins } from "@mp/graph/internal";

hideFromOrigins(import.meta.url);

export { type LoadedTimm, loadTimm } from "./load-timm.js";
export { saveTimm } from "./save-timm.js";
export { type TimmArgs, type TimmModel, type TimmWeights, timmModel } from "./timm-model.js";
