import type { Surroundings } from "../lowerings/lower-node.js";
import { reshape } from "../lowerings/operators.js";
import { firstOfEach, type OwnLowering, type OwnLowerings } from "../lowerings/own-lowering.js";
import { ownLowerings } from "../lowerings/own-lowerings.js";
import { rowLossLowerings } from "../lowerings/row-losses.js";
import type { Target } from "../lowerings/target.js";
import { convolutionLowerings } from "./convolution.js";
import { indexingLowerings } from "./indexing.js";
import { movementLowerings } from "./movement.js";
import { normalizationLowerings } from "./normalization.js";
import { poolingLowerings } from "./pooling.js";
import { power } from "./power.js";
import { randomBits, Unsigned } from "./random-bits.js";
import { reduceLowerings } from "./reduce.js";
import { unaryLowerings } from "./unary.js";

/** Reshapes a scalar C to one dimension, because the kernel for products of 64 rows or more crashes on a scalar. */
const gemm: OwnLowering<"Gemm"> = (node, [a = "", b = "", c], writer, standard) => {
  if (c === undefined || node.inputs[2]?.shape.length !== 0) return undefined;
  return standard([a, b, reshape(c, [1], writer)]);
};

/** Lowerings for the WebGPU provider, and the CPU's lowerings for all other ops. */
export const webgpuLowerings = (target: Target, surroundings: Surroundings): OwnLowerings => ({
  ...firstOfEach(ownLowerings(target, surroundings), { Gemm: gemm }),
  ...unaryLowerings,
  Pow: power(surroundings.constantOf),
  ...convolutionLowerings,
  ...reduceLowerings,
  ...poolingLowerings,
  ...normalizationLowerings,
  ...rowLossLowerings,
  ...movementLowerings,
  ...indexingLowerings,
  RandomBits: randomBits(Unsigned),
});
