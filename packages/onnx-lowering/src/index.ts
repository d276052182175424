export type { BoundConstant } from "./bound-constants.js";
export { executionOrder, listForSchedule } from "./execution-order.js";
export { type Lowered, lowerGraph } from "./lower.js";
export type { Target } from "./lowerings/target.js";
export { failureInNode } from "./node-failure.js";
export type { ProbedEngine } from "./probe/engine.js";
export { type Findings, knownFindings, targetOf } from "./probe/findings.js";
export { kernelManifest } from "./probe/kernel-manifest.js";
export { type Storage, storageOf } from "./storage.js";
