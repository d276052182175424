import { elementCount } from "../../shape.js";
import { checkAttributes } from "../attribute-kinds-table.js";
import type { Op, OpAttributes } from "../attributes.js";
import type { ValueType } from "../graph.js";
import { attentionInfer } from "./attention.js";
import { batchNormalizationInfer } from "./batch-normalization.js";
import { binaryInfer } from "./binary.js";
import { convolutionInfer } from "./convolution.js";
import { indexingInfer } from "./indexing.js";
import { loopInfer } from "./loop.js";
import { lossInfer } from "./loss.js";
import { matrixInfer } from "./matrix.js";
import { movementInfer } from "./movement.js";
import { normalizationInfer } from "./normalization.js";
import { poolingInfer } from "./pooling.js";
import { reduceInfer } from "./reduce.js";
import type { InferTable } from "./rule.js";
import { sourceInfer } from "./source.js";
import { unaryInfer } from "./unary.js";

/** Output types of every op from its input types; the only source of a graph's shapes. */
export const inferRules: InferTable<Op> = {
  ...unaryInfer,
  ...binaryInfer,
  ...matrixInfer,
  ...attentionInfer,
  ...convolutionInfer,
  ...reduceInfer,
  ...poolingInfer,
  ...normalizationInfer,
  ...lossInfer,
  ...batchNormalizationInfer,
  ...movementInfer,
  ...indexingInfer,
  ...loopInfer,
  ...sourceInfer,
};

/**
 * Dtypes and shapes of the results of an op with the given operands and attributes.
 * @throws MP_INVALID_ARGUMENT, MP_DTYPE_MISMATCH or MP_SHAPE_MISMATCH, naming op and operands; also for a result with
 * too many elements for a tensor
 */
export function inferTypes<K extends Op>(
  op: K,
  inputs: readonly ValueType[],
  attributes: OpAttributes[K],
): readonly ValueType[] {
  checkAttributes(op, attributes);
  const types = inferRules[op](inputs, attributes);
  for (const { shape } of types) elementCount(shape, op);
  return types;
}
