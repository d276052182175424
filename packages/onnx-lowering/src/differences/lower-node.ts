/** Lowerings for engines other than ONNX Runtime, according to the probe's findings. */
import type { LowerNode } from "@mp/onnx/write";
import type { Surroundings } from "../lowerings/lower-node.js";
import { firstOfEach, type OwnLowering, type OwnLowerings } from "../lowerings/own-lowering.js";
import { ownLowerings } from "../lowerings/own-lowerings.js";
import type { Differences, Target } from "../lowerings/target.js";
import { lowerReplacing } from "../replacing/lower-replacing.js";
import { randomBits, Signed } from "../webgpu/random-bits.js";
import { acceptedForms, gatherElements } from "./accepted-forms.js";
import { floatForms } from "./float-forms.js";
import { exactIntegers } from "./integers.js";
import { sumOfRounded } from "./products-rounded.js";
import { quotient } from "./quotient.js";
import { castByArithmetic } from "./rounding.js";

/** Ops whose operands the engine checks: none, because these engines check no index, and may crash on empty nodes. */
const UNCHECKED: ReadonlySet<string> = new Set();

const inShortIntegers: OwnLowerings = { ...exactIntegers, RandomBits: randomBits(Signed) };

export function lowerDifferently(
  target: Target,
  { differing, fusesProducts, hasShortIntegers, unrounded }: Differences,
  surroundings: Surroundings,
): LowerNode {
  const sum = sumOfRounded(surroundings.producerOf);
  const own: OwnLowerings = {
    ...acceptedForms,
    ...(fusesProducts ? { Add: sum as OwnLowering<"Add">, Sub: sum as OwnLowering<"Sub"> } : {}),
    Div: quotient(surroundings.producerOf),
    GatherElements: gatherElements(surroundings.producerOf),
    Cast: castByArithmetic(unrounded),
  };
  const exact = hasShortIntegers ? firstOfEach(inShortIntegers, own) : own;
  return lowerReplacing(
    firstOfEach(exact, ownLowerings(target, surroundings)),
    floatForms(differing),
    UNCHECKED,
  );
}
