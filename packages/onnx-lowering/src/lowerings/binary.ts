import { type ConstantOf, guardedDivision } from "./division.js";
import { differenceAsSum, type FixedValues } from "./fixed-values.js";
import { chosenBy } from "./integers.js";
import type { OwnLoweringsOf } from "./own-lowering.js";
import type { Target } from "./target.js";
import { greatestOfTwo, leastOfTwo } from "./word-order.js";

/** `constantOf` gives the constants of the graph. */
export function binaryLowerings(
  target: Target,
  constantOf: ConstantOf,
  fixed: FixedValues,
): OwnLoweringsOf<"binary"> {
  const division = guardedDivision(constantOf);
  return {
    Sub: differenceAsSum(fixed),
    Min: leastOfTwo,
    Max: greatestOfTwo,
    Where: chosenBy(constantOf, target),
    Div: division,
    Mod: division,
  };
}
