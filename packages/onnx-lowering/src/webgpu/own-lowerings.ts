import { binaryLowerings } from "../lowerings/binary.js";
import { indexingLowerings as sharedIndexing } from "../lowerings/indexing.js";
import type { Surroundings } from "../lowerings/lower-node.js";
import { matrixLowerings as sharedMatrix } from "../lowerings/matrix.js";
import { movementLowerings as sharedMovement } from "../lowerings/movement.js";
import { firstOfEach, type OwnLowerings } from "../lowerings/own-lowering.js";
import { poolingLowerings as sharedPooling } from "../lowerings/pooling.js";
import { rowLossLowerings } from "../lowerings/row-losses.js";
import { sourceLowerings } from "../lowerings/source.js";
import type { Target } from "../lowerings/target.js";
import { unaryLowerings as sharedUnary } from "../lowerings/unary.js";
import { convolutionLowerings } from "./convolution.js";
import { indexingLowerings } from "./indexing.js";
import { matrixLowerings } from "./matrix.js";
import { movementLowerings } from "./movement.js";
import { normalizationLowerings } from "./normalization.js";
import { poolingLowerings } from "./pooling.js";
import { power } from "./power.js";
import { randomBits, unsignedArithmetic } from "./random-bits.js";
import { reduceLowerings } from "./reduce.js";
import { unaryLowerings } from "./unary.js";

/** The lowerings of nodes for the WebGPU provider: those for the processor that are right for it too, and its own. */
export const webgpuLowerings = (
  target: Target,
  { constantOf, unswapped, fixed }: Surroundings,
): OwnLowerings => ({
  ...sharedUnary(target),
  ...unaryLowerings,
  ...binaryLowerings(target, constantOf, fixed),
  Pow: power(constantOf),
  ...firstOfEach(sharedMatrix(target, unswapped), matrixLowerings),
  ...convolutionLowerings,
  ...reduceLowerings,
  ...sharedPooling,
  ...poolingLowerings,
  ...normalizationLowerings,
  ...rowLossLowerings,
  ...sharedMovement(unswapped),
  ...movementLowerings,
  ...sharedIndexing(target),
  ...indexingLowerings,
  ...sourceLowerings,
  RandomBits: randomBits(unsignedArithmetic),
});
