/**
 * Lowerings for ONNX Runtime's CUDA provider: the processor's, and what its kernels lack or get wrong. Its maximum over
 * windows ends at opset 21, where its convolution of bfloat16 does not exist yet; so windows are composed, as on WebGPU.
 */
import { isFloat } from "@mp/core/graph";
import type { LowerNode } from "@mp/onnx/write";
import { inF32 } from "../lowerings/in-f32.js";
import { logSoftmax } from "../lowerings/log-softmax.js";
import { checkedLabels } from "../lowerings/loss.js";
import { lowerNodes, type Surroundings } from "../lowerings/lower-node.js";
import { at, type OwnLowering, type OwnLowerings, operandType } from "../lowerings/own-lowering.js";
import { rowLossLowerings } from "../lowerings/row-losses.js";
import { scatterAsElements } from "../lowerings/scatter-in-order.js";
import type { Target } from "../lowerings/target.js";
import { poolingLowerings } from "../webgpu/pooling.js";
import { convTranspose } from "./convolution.js";
import { normalizationLowerings } from "./normalization.js";
import { reduceLowerings } from "./reduce.js";
import { topK } from "./search.js";
import { unaryLowerings } from "./unary.js";

/** Its ScatterND reduces floats only. */
const scatterIntegers: OwnLowering<"ScatterND"> = (node, operands, writer, standard) => {
  if (isFloat(operandType(node).dtype) || node.attributes.reduction === "none") return undefined;
  if (node.inputs[2]?.shape.includes(0)) return [at(operands, 0)];
  return scatterAsElements(node, operands, writer, standard);
};

const own: OwnLowerings = {
  ...unaryLowerings,
  ...reduceLowerings,
  TopK: topK,
  ...normalizationLowerings,
  ...poolingLowerings,
  ConvTranspose: convTranspose,
  ScatterND: scatterIntegers,
  LogSoftmax: (node, operands, writer) => [
    inF32(node, at(operands, 0), writer, (x) => logSoftmax(x, node.attributes.axis, writer)),
  ],
  SoftmaxCrossEntropyLoss: (node, [scores = "", labels = "", ...weights], writer, standard) =>
    rowLossLowerings.SoftmaxCrossEntropyLoss(
      node,
      [scores, checkedLabels(node, labels, writer), ...weights],
      writer,
      standard,
    ),
};

export const lowerCudaNodes = (target: Target, surroundings: Surroundings): LowerNode =>
  lowerNodes(target, surroundings, own);
