/** `@mp/onnx-lowering/probe`: tests what an engine computes. Separate, because known engines need no probe. */

export { probeEngine } from "./probe-engine.js";
export { nativeHalves } from "./probe-halves.js";
export { pairsFor, probeKernels } from "./probe-kernels.js";
export { narrowSums } from "./probe-sums.js";
export { runGraph } from "./run-graph.js";
