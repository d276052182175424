/** Steps compiled for GPUs that are not here. */
export { type StepBound, stepBound } from "./bound.js";
export { compileStep, type StepForGpu } from "./compile-step.js";
export { type CompiledGraph, type DevicelessOptions, deviceless } from "./deviceless.js";
export { GPU_TARGETS, type GpuTarget, type GpuTargetName, type PublishedRates } from "./gpu-target-table.js";
