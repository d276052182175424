/** `@mp/backend-xla/compile`: compiles a trainer's step for a GPU that this machine need not have. */
export { formatProduct, type ProductGroup, type StepFigures } from "../compiled/compiled-step.js";
export { compileStep, type StepForGpu } from "../deviceless/compile-step.js";
export type { DevicelessOptions } from "../deviceless/deviceless.js";
export { GPU_TARGETS, type GpuTarget, type GpuTargetName } from "../deviceless/gpu-target-table.js";
