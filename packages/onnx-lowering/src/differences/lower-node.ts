/** Lowerings for engines that differ from ONNX Runtime, by what the probe found. */
import type { LowerNode } from "@mp/onnx/write";
import { binaryLowerings } from "../lowerings/binary.js";
import { lowerNodes, type Surroundings } from "../lowerings/lower-node.js";
import { withoutElements } from "../lowerings/no-elements.js";
import { firstOfEach, type OwnLowerings } from "../lowerings/own-lowering.js";
import { reduceLowerings } from "../lowerings/reduce.js";
import type { Differences, Target } from "../lowerings/target.js";
import { unaryLowerings } from "../lowerings/unary.js";
import { randomBits, signedArithmetic } from "../webgpu/random-bits.js";
import { acceptedForms } from "./accepted-forms.js";
import { exactIntegers } from "./integers.js";
import { keepingNaN } from "./keeping-nan.js";
import { castByArithmetic } from "./rounding.js";

const UNCHECKED: ReadonlySet<string> = new Set();

export function lowerDifferently(
  target: Target,
  { losesNaN, hasShortIntegers, unrounded }: Differences,
  surroundings: Surroundings,
): LowerNode {
  const shared: OwnLowerings = {
    ...unaryLowerings(target),
    ...binaryLowerings(target, surroundings.constantOf, surroundings.fixed),
    ...reduceLowerings,
  };
  const own = firstOfEach({ Cast: castByArithmetic(unrounded) }, shared);
  const exact = hasShortIntegers ? firstOfEach(exactIntegers, own) : own;
  const lower = lowerNodes(target, surroundings, {
    ...acceptedForms,
    ...exact,
    ...keepingNaN(losesNaN, exact),
    ...(hasShortIntegers ? { RandomBits: randomBits(signedArithmetic) } : {}),
  });
  // The engine may end the process over them, and checks no index.
  return (node, operands, writer, standard) =>
    withoutElements(node, writer, UNCHECKED) ?? lower(node, operands, writer, standard);
}
