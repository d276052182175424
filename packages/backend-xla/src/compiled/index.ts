/** What a compiler made of a step, read from the compiled module. */
export {
  type CompiledStep,
  formatProduct,
  type ProductGroup,
  readCompiled,
  type StepFigures,
  stepFigures,
} from "./compiled-step.js";
export type { Kernel } from "./kernels.js";
export type { Product } from "./products.js";
