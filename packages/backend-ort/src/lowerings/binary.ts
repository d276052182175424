import { type ConstantOf, guardedDivision } from "./division.js";
import { chosen } from "./integers.js";
import type { OwnLoweringsOf } from "./own-lowering.js";
import { greatestOfTwo, leastOfTwo } from "./word-order.js";

/** `constantOf` gives the constants of the graph. */
export function binaryLowerings(constantOf: ConstantOf): OwnLoweringsOf<"binary"> {
  const division = guardedDivision(constantOf);
  return { Min: leastOfTwo, Max: greatestOfTwo, Where: chosen, Div: division, Mod: division };
}
