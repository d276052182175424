import { reshape } from "../lowerings/blocked-layout.js";
import type { OwnLowering, OwnLoweringsOf } from "../lowerings/own-lowering.js";

/** The kernel of products of 64 rows or more ends the process where C is a scalar. */
const gemm: OwnLowering<"Gemm"> = (node, [a = "", b = "", c], writer, standard) => {
  if (c === undefined || node.inputs[2]?.shape.length !== 0) return undefined;
  return standard([a, b, reshape(c, [1], writer)]);
};

/** Asked after the lowerings for the processor. */
export const matrixLowerings: OwnLoweringsOf<"matrix"> = { Gemm: gemm };
