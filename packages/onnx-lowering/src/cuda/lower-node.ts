/**
 * Lowerings for ONNX Runtime's CUDA provider: the CPU's, and others for ops whose CUDA kernels are missing or wrong.
 * MaxPool is composed, as on WebGPU, because its kernel needs opset 21, which has no bf16 convolutions.
 */
import { isFloat } from "@mp/graph";
import type { LowerNode } from "@mp/onnx/write";
import { inF32 } from "../lowerings/in-f32.js";
import { logSoftmax } from "../lowerings/log-softmax.js";
import { checkLabels } from "../lowerings/loss.js";
import { lowerOwn, type Surroundings } from "../lowerings/lower-node.js";
import { anyMarked, extremeKeepingNaN } from "../lowerings/nan.js";
import { layerNormalization, withWholeParameters } from "../lowerings/normalization.js";
import {
  at,
  firstOfEach,
  type OwnLowering,
  type OwnLowerings,
  operandType,
} from "../lowerings/own-lowering.js";
import { ownLowerings } from "../lowerings/own-lowerings.js";
import { rowLossLowerings } from "../lowerings/row-losses.js";
import { scatterAsElements } from "../lowerings/scatter-in-order.js";
import type { Target } from "../lowerings/target.js";
import { poolingLowerings } from "../webgpu/pooling.js";
import { convTranspose } from "./convolution.js";
import { topK } from "./search.js";
import { unaryLowerings } from "./unary.js";

/** Writes an integer ScatterND with a reduction as ScatterElements, as the provider's ScatterND reduces only floats. */
const scatterIntegers: OwnLowering<"ScatterND"> = (node, operands, writer, standard) => {
  if (isFloat(operandType(node).dtype) || node.attributes.reduction === "none") return undefined;
  if (node.inputs[2]?.shape.includes(0)) return [at(operands, 0)];
  return scatterAsElements(node, operands, writer, standard);
};

/** Makes the maximum of only -∞, or the minimum of only ∞, infinite: the f32 kernels start from a finite number. */
const extremeOfInfinities: OwnLowering<"ReduceMax" | "ReduceMin"> = (node, operands, writer, standard) => {
  const { axes, keepdims } = node.attributes;
  if (operandType(node).dtype !== "f32") return undefined;
  const isMost = node.op === "ReduceMax";
  const start = writer.scalar(isMost ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY, "f32");
  return extremeKeepingNaN(node, operands, writer, (given) => {
    const isFurther = writer.one(isMost ? "Greater" : "Less", [at(given, 0), start]);
    const isAny = anyMarked(writer.cast(isFurther, "f32"), axes, keepdims, writer);
    return [writer.one("Where", [isAny, at(standard(given), 0), start])];
  });
};

const own: OwnLowerings = {
  ...unaryLowerings,
  ReduceMax: extremeOfInfinities,
  ReduceMin: extremeOfInfinities,
  TopK: topK,
  LayerNormalization: layerNormalization,
  RMSNormalization: (node, operands, writer, standard) =>
    standard(withWholeParameters(node, operands, writer)),
  ...poolingLowerings,
  ConvTranspose: convTranspose,
  ScatterND: scatterIntegers,
  LogSoftmax: (node, operands, writer) => [
    inF32(node, at(operands, 0), writer, (x) => logSoftmax(x, node.attributes.axis, writer)),
  ],
  SoftmaxCrossEntropyLoss: (node, [scores = "", labels = "", ...weights], writer, standard) =>
    rowLossLowerings.SoftmaxCrossEntropyLoss(
      node,
      [scores, checkLabels(node, labels, writer), ...weights],
      writer,
      standard,
    ),
};

export const lowerCudaNodes = (target: Target, surroundings: Surroundings): LowerNode =>
  lowerOwn(firstOfEach(own, ownLowerings(target, surroundings)));
