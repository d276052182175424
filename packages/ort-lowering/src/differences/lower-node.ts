/** Lowerings for engines that differ from ONNX Runtime, by what the probe found. */
import type { LowerNode } from "@mp/onnx/write";
import { binaryLowerings } from "../lowerings/binary.js";
import { lowerNodes, type Surroundings } from "../lowerings/lower-node.js";
import { withoutElements } from "../lowerings/no-elements.js";
import { firstOfEach, type OwnLowerings } from "../lowerings/own-lowering.js";
import type { Differences, Target } from "../lowerings/target.js";
import { unaryLowerings } from "../lowerings/unary.js";
import { randomBits, signedArithmetic } from "../webgpu/random-bits.js";
import { exactQuotient, exactRemainder } from "./integers.js";
import { keepingNaN } from "./keeping-nan.js";
import { castByArithmetic } from "./rounding.js";

const UNCHECKED: ReadonlySet<string> = new Set();

export function lowerDifferently(
  target: Target,
  { losesNaN, hasShortIntegers, unrounded }: Differences,
  surroundings: Surroundings,
): LowerNode {
  const unary = firstOfEach({ Cast: castByArithmetic(unrounded) }, unaryLowerings(target));
  const others: OwnLowerings = {
    ...unary,
    ...binaryLowerings(target, surroundings.constantOf, surroundings.fixed),
  };
  const lower = lowerNodes(target, surroundings, {
    ...unary,
    ...keepingNaN(losesNaN, others),
    ...(hasShortIntegers
      ? { RandomBits: randomBits(signedArithmetic), Div: exactQuotient, Mod: exactRemainder }
      : {}),
  });
  // The engine may end the process over them, and checks no index.
  return (node, operands, writer, standard) =>
    withoutElements(node, writer, UNCHECKED) ?? lower(node, operands, writer, standard);
}
