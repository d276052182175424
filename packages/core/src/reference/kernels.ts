import type { Op, OpAttributes } from "../graph/attributes.js";
import type { ValueType } from "../graph/graph.js";
import type { Arithmetic } from "./arithmetic.js";
import type { ReferenceTable } from "./kernel.js";
import { batchNormalizationKernels } from "./kernels/batch-normalization.js";
import { binaryKernels } from "./kernels/binary.js";
import { convolutionKernels } from "./kernels/convolution.js";
import { indexingKernels } from "./kernels/indexing.js";
import { lossKernels } from "./kernels/loss.js";
import { matrixKernels } from "./kernels/matrix.js";
import { movementKernels } from "./kernels/movement.js";
import { normalizationKernels } from "./kernels/normalization.js";
import { poolingKernels } from "./kernels/pooling.js";
import { reduceKernels } from "./kernels/reduce.js";
import { sourceKernels } from "./kernels/source.js";
import { unaryKernels } from "./kernels/unary.js";
import type { Operand, Store } from "./store.js";

/** The definition of every op. An engine whose results have other bits declares this in its manifest. */
export const referenceKernels: ReferenceTable<Op> = {
  ...unaryKernels,
  ...binaryKernels,
  ...matrixKernels,
  ...convolutionKernels,
  ...reduceKernels,
  ...poolingKernels,
  ...normalizationKernels,
  ...batchNormalizationKernels,
  ...lossKernels,
  ...movementKernels,
  ...indexingKernels,
  ...sourceKernels,
};

/** Computes one node. @throws MP_OUT_OF_RANGE for an index, label or divisor for which the op is undefined */
export function runKernel<K extends Op>(
  op: K,
  inputs: readonly Operand[],
  attributes: OpAttributes[K],
  outputs: readonly ValueType[],
  arithmetic: Arithmetic,
): readonly Store[] {
  return referenceKernels[op](inputs, attributes, outputs, arithmetic);
}
