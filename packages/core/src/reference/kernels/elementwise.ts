import type { ElementwiseOp } from "../../graph/infer/elementwise.js";
import type { ReferenceTable } from "../kernel.js";
import { binaryKernels } from "./binary.js";
import { castKernel } from "./cast.js";
import { unaryKernels } from "./unary.js";
import { whereKernel } from "./where.js";

export const elementwiseKernels: ReferenceTable<ElementwiseOp> = {
  ...unaryKernels,
  ...binaryKernels,
  Cast: castKernel,
  Where: whereKernel,
};
