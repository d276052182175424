import { type ConstantOf, guardedDivision } from "./division.js";
import { differenceAsSum, type FixedValues } from "./fixed-values.js";
import { chosen } from "./integers.js";
import type { OwnLoweringsOf } from "./own-lowering.js";
import { greatestOfTwo, leastOfTwo } from "./word-order.js";

/** `constantOf` gives the constants of the graph. */
export function binaryLowerings(constantOf: ConstantOf, fixed: FixedValues): OwnLoweringsOf<"binary"> {
  const division = guardedDivision(constantOf);
  return {
    Sub: differenceAsSum(fixed),
    Min: leastOfTwo,
    Max: greatestOfTwo,
    Where: chosen,
    Div: division,
    Mod: division,
  };
}
