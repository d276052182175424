/** Where ONNX Runtime's kernels do not mean what the vocabulary says, are missing, or another form is faster. */
import { type AnyNode, type DType, decidingDType, type GraphNode } from "@mp/core";
import type { LowerNode } from "@mp/onnx";
import type { Target } from "../target.js";
import { convolutions } from "./convolution.js";
import { cast, clip, elu } from "./elementwise.js";
import {
  chosen,
  extremeAsSigned,
  firstOf,
  foldedInHalves,
  searchAsSigned,
  topKAsSigned,
} from "./integers.js";
import { crossEntropy, logLikelihood } from "./loss.js";
import { oneHot, pad, reshapedEighth } from "./movement.js";
import { extremeKeepingNaN, searchFindingNaN, topKOrderingNaN } from "./nan.js";
import type { OwnLowering, OwnLowerings } from "./own-lowering.js";
import { averagePool, maxPool } from "./pooling.js";

/** The engine runs our order and shares nothing across it, so that a barrier has nothing left to do. */
const barrier: OwnLowering<"Barrier"> = (_node, [x = ""]) => [x];

const fixed: OwnLowerings = {
  Barrier: barrier,
  Elu: elu,
  Clip: clip,
  Cast: cast,
  Where: chosen,
  ReduceSum: foldedInHalves,
  ReduceProd: foldedInHalves,
  ReduceMax: firstOf(extremeAsSigned, extremeKeepingNaN),
  ReduceMin: firstOf(extremeAsSigned, extremeKeepingNaN),
  ArgMax: firstOf(searchAsSigned, searchFindingNaN),
  ArgMin: firstOf(searchAsSigned, searchFindingNaN),
  TopK: firstOf(topKAsSigned, topKOrderingNaN),
  SoftmaxCrossEntropyLoss: crossEntropy,
  NegativeLogLikelihoodLoss: logLikelihood,
  Squeeze: reshapedEighth,
  Unsqueeze: reshapedEighth,
  Pad: pad,
  MaxPool: maxPool,
  AveragePool: averagePool,
  OneHot: oneHot,
};

/** Lowers nodes for that ONNX Runtime's kernels. */
export function lowerNodes(target: Target): LowerNode {
  const own: OwnLowerings = { ...fixed, ...convolutions(target) };
  return (node, operands, writer, standard) => {
    const ownly = own[node.op] as OwnLowering | undefined;
    const results = ownly?.(node as GraphNode, operands, writer, (others, as) =>
      standard(as === undefined ? node : inDType(node, as), others),
    );
    return results ?? standard(node, operands);
  };
}

/** The node with another deciding dtype. */
function inDType(node: AnyNode, dtype: DType): AnyNode {
  const before = decidingDType(node);
  const twin = <V extends { readonly dtype: DType }>(value: V): V =>
    value.dtype === before ? { ...value, dtype } : value;
  return { ...node, inputs: node.inputs.map(twin), outputs: node.outputs.map(twin) } as AnyNode;
}
