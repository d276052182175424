/**
 * `@mp/backend-xla/compile`: any trainer's step compiled for a GPU that is not here, and what the compiler made of it.
 */
export {
  type CompiledStep,
  formatProduct,
  type Kernel,
  type Product,
  type ProductGroup,
  type StepFigures,
  stepFigures,
} from "../compiled/index.js";
export {
  type CompiledGraph,
  compileStep,
  type DevicelessOptions,
  deviceless,
  GPU_TARGETS,
  type GpuTarget,
  type GpuTargetName,
  type PublishedRates,
  type StepBound,
  type StepForGpu,
  stepBound,
} from "../deviceless/index.js";
