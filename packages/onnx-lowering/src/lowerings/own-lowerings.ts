/**
 * Lowerings for ops whose ONNX Runtime CPU kernels differ from the op's definition, are missing, or are
 * slower than another form.
 */
import { convolutionLowerings } from "./convolution.js";
import { guardDivision } from "./division.js";
import { differenceAsSum } from "./fixed-values.js";
import { chooseKeepingZeros, foldInHalves, searchAsSigned, topKAsSigned } from "./integers.js";
import { lossLowerings } from "./loss.js";
import type { Surroundings } from "./lower-node.js";
import { matrixLowerings } from "./matrix.js";
import { movementLowerings } from "./movement.js";
import {
  extremeKeepingNaN,
  largestMagnitude,
  scatterKeepingNaN,
  searchFindingNaN,
  topKOrderingNaN,
} from "./nan.js";
import { at, firstApplicable, type OwnLowering, type OwnLowerings, operandType } from "./own-lowering.js";
import { poolingLowerings } from "./pooling.js";
import { scatterInOrder } from "./scatter-in-order.js";
import type { Target } from "./target.js";
import { unaryLowerings } from "./unary.js";
import { extremeOfTwo, extremeOfWideIntegers } from "./word-order.js";

/** Gives scalar indices one dimension, which the engine requires. */
const oneHot: OwnLowering<"OneHot"> = (node, operands, writer, standard) => {
  if (operandType(node).shape.length > 0) return undefined;
  const [hot = ""] = standard([writer.one("Reshape", [at(operands, 0), writer.ints([1])])]);
  return [writer.one("Reshape", [hot, writer.ints([node.attributes.depth])])];
};

/** Drops the barrier, because the engine runs nodes in the given order and merges no equal nodes across it. */
const barrier: OwnLowering<"Barrier"> = (_node, [x = ""]) => [x];

export function ownLowerings(
  target: Target,
  { constantOf, producerOf, unswapped, fixed }: Surroundings,
): OwnLowerings {
  const division = guardDivision(constantOf);
  return {
    ...unaryLowerings(target),
    Sub: differenceAsSum(fixed),
    Min: extremeOfTwo("Less"),
    Max: extremeOfTwo("Greater"),
    Where: chooseKeepingZeros(constantOf, target),
    Div: division,
    Mod: division,
    ...matrixLowerings(target, unswapped),
    ...convolutionLowerings(target),
    ReduceSum: foldInHalves,
    ReduceProd: foldInHalves,
    ReduceMax: firstApplicable(extremeOfWideIntegers, largestMagnitude(producerOf), extremeKeepingNaN),
    ReduceMin: firstApplicable(extremeOfWideIntegers, extremeKeepingNaN),
    ReduceLogSumExp: extremeKeepingNaN,
    ArgMax: firstApplicable(searchAsSigned, searchFindingNaN),
    ArgMin: firstApplicable(searchAsSigned, searchFindingNaN),
    TopK: firstApplicable(topKAsSigned, topKOrderingNaN),
    ...poolingLowerings,
    ...lossLowerings,
    ...movementLowerings(unswapped),
    ScatterElements: scatterKeepingNaN,
    ScatterND:
      target.device === "cpu" ? firstApplicable(scatterKeepingNaN, scatterInOrder) : scatterKeepingNaN,
    OneHot: oneHot,
    Barrier: barrier,
  };
}
