/**
 * Lowerings for nodes where ONNX Runtime's kernels differ from the vocabulary, are missing, or are slower than another
 * form.
 */
import type { DType } from "@mp/core";
import { type AnyNode, decidingDType, type GraphNode } from "@mp/core/graph";
import type { LowerNode } from "@mp/onnx";
import type { Target } from "../target.js";
import { convolutions } from "./convolution.js";
import { type ConstantOf, guardedDivision } from "./division.js";
import { cast, clip, elu } from "./elementwise.js";
import { gemm } from "./gemm.js";
import { integerCast } from "./integer-cast.js";
import { chosen, firstOf, foldedInHalves, searchAsSigned, topKAsSigned } from "./integers.js";
import { crossEntropy, logLikelihood } from "./loss.js";
import { oneHot, pad, reshapedEighth } from "./movement.js";
import { extremeKeepingNaN, scatterKeepingNaN, searchFindingNaN, topKOrderingNaN } from "./nan.js";
import { withoutElements } from "./no-elements.js";
import type { OwnLowering, OwnLowerings } from "./own-lowering.js";
import { averagePool, maxPool, maxPoolGradient } from "./pooling.js";
import {
  clipInOrder,
  greatestOfMany,
  greatestOfTwo,
  leastOfMany,
  leastOfTwo,
  signInOrder,
} from "./word-order.js";

/** The engine runs nodes in our order and shares nothing across a barrier, so a barrier has nothing left to do. */
const barrier: OwnLowering<"Barrier"> = (_node, [x = ""]) => [x];

const fixed: OwnLowerings = {
  Barrier: barrier,
  Elu: elu,
  Sign: signInOrder,
  Clip: firstOf(clipInOrder, clip),
  Min: leastOfTwo,
  Max: greatestOfTwo,
  Where: chosen,
  Gemm: gemm,
  ReduceSum: foldedInHalves,
  ReduceProd: foldedInHalves,
  ReduceMax: firstOf(greatestOfMany, extremeKeepingNaN),
  ReduceMin: firstOf(leastOfMany, extremeKeepingNaN),
  ReduceLogSumExp: extremeKeepingNaN,
  ArgMax: firstOf(searchAsSigned, searchFindingNaN),
  ArgMin: firstOf(searchAsSigned, searchFindingNaN),
  TopK: firstOf(topKAsSigned, topKOrderingNaN),
  ScatterElements: scatterKeepingNaN,
  ScatterND: scatterKeepingNaN,
  SoftmaxCrossEntropyLoss: crossEntropy,
  NegativeLogLikelihoodLoss: logLikelihood,
  Squeeze: reshapedEighth,
  Unsqueeze: reshapedEighth,
  Pad: pad,
  MaxPool: maxPool,
  MaxPoolGradient: maxPoolGradient,
  AveragePool: averagePool,
  OneHot: oneHot,
};

/** Lowers nodes for that engine; `constantOf` gives the constants of the graph. */
export function lowerNodes(target: Target, constantOf: ConstantOf): LowerNode {
  const division = guardedDivision(constantOf);
  const own: OwnLowerings = {
    ...fixed,
    ...convolutions(target),
    Cast: firstOf(integerCast(target), cast),
    Div: division,
    Mod: division,
  };
  return (node, operands, writer, standard) => {
    const nothing = withoutElements(node, writer);
    if (nothing !== undefined) return nothing;
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
