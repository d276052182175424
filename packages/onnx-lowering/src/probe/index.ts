/** `@mp/onnx-lowering/probe`: asks an engine what it computes. Apart, because an engine that is known need not be asked. */

export { probeEngine } from "./probe-engine.js";
export { nativeHalves } from "./probe-halves.js";
export { pairsFor, probeKernels } from "./probe-kernels.js";
export { narrowSums } from "./probe-sums.js";
export { runGraph } from "./run-graph.js";
