/** `@mp/onnx-lowering/probe`: finds out what an engine computes. A separate entry: listed engines need no probe. */

export { probeEngine } from "./probe-engine.js";
export { nativeHalves } from "./probe-halves.js";
export { pairsFor, probeKernels } from "./probe-kernels.js";
export { narrowSums } from "./probe-sums.js";
export { runGraph } from "./run-graph.js";
