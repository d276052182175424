import { elementCount } from "../shape.js";
import { checkAttributes } from "./attribute-kinds-table.js";
import type { Op, OpAttributes } from "./attributes.js";
import type { ValueType } from "./graph.js";
import { attentionInfer } from "./infer/attention.js";
import { batchNormalizationInfer } from "./infer/batch-normalization.js";
import { binaryInfer } from "./infer/binary.js";
import { convolutionInfer } from "./infer/convolution.js";
import { indexingInfer } from "./infer/indexing.js";
import { loopInfer } from "./infer/loop.js";
import { lossInfer } from "./infer/loss.js";
import { matrixInfer } from "./infer/matrix.js";
import { movementInfer } from "./infer/movement.js";
import { normalizationInfer } from "./infer/normalization.js";
import { poolingInfer } from "./infer/pooling.js";
import { reduceInfer } from "./infer/reduce.js";
import type { InferTable } from "./infer/rule.js";
import { sourceInfer } from "./infer/source.js";
import { unaryInfer } from "./infer/unary.js";

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
