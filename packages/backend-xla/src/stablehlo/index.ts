/** The writer: a typed graph as StableHLO text. */
export { emitGraph } from "./emit-graph.js";
export { Emitter, type EmitterOptions } from "./emitter.js";
export type { Operand } from "./operand.js";
export { namesText, typesText, typeText } from "./tensor-type.js";
