import { foldedInHalves, searchAsSigned, topKAsSigned } from "./integers.js";
import { extremeKeepingNaN, searchFindingNaN, topKOrderingNaN } from "./nan.js";
import { firstOf, type OwnLoweringsOf } from "./own-lowering.js";
import { greatestOfMany, leastOfMany } from "./word-order.js";

export const reduceLowerings: OwnLoweringsOf<"reduce"> = {
  ReduceSum: foldedInHalves,
  ReduceProd: foldedInHalves,
  ReduceMax: firstOf(greatestOfMany, extremeKeepingNaN),
  ReduceMin: firstOf(leastOfMany, extremeKeepingNaN),
  ReduceLogSumExp: extremeKeepingNaN,
  ArgMax: firstOf(searchAsSigned, searchFindingNaN),
  ArgMin: firstOf(searchAsSigned, searchFindingNaN),
  TopK: firstOf(topKAsSigned, topKOrderingNaN),
};
