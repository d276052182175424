import { aliasingCases } from "../cases/aliasing.js";
import { aliasingChainCases } from "../cases/aliasing-chains.js";
import { castCases } from "../cases/cast.js";
import { constantStateCases } from "../cases/constant-state.js";
import { determinismCases } from "../cases/determinism.js";
import { disposeWhileCompilingCases } from "../cases/dispose-while-compiling.js";
import { factoryCases } from "../cases/factory.js";
import { axisCases } from "../cases/families/axes.js";
import { equalSideCases } from "../cases/families/equal-sides.js";
import { formCases } from "../cases/families/forms.js";
import { largeStateCases } from "../cases/families/large-states.js";
import { liveArrayCases } from "../cases/families/live-arrays.js";
import { manyCases } from "../cases/families/many.js";
import { manyRunCases } from "../cases/families/many-runs.js";
import { nameCases } from "../cases/families/names.js";
import { optionCases } from "../cases/families/options.js";
import { programCases } from "../cases/families/programs/program-cases.js";
import { tailCases } from "../cases/families/tails.js";
import { finiteCheckCases } from "../cases/finite-check.js";
import { fusionCases } from "../cases/fusion.js";
import { gradientCases } from "../cases/gradient.js";
import { imageCases } from "../cases/image.js";
import { inPlaceCases } from "../cases/in-place.js";
import { integerDivisionCases } from "../cases/integer-division.js";
import { integerArithmeticCases } from "../cases/integers/arithmetic.js";
import { integerCastCases } from "../cases/integers/casts.js";
import { integerMovementCases } from "../cases/integers/movement.js";
import { integerReductionCases } from "../cases/integers/reductions.js";
import { opCases } from "../cases/kinds/op-cases.js";
import { leakCases } from "../cases/leaks.js";
import { lifecycleCases } from "../cases/lifecycle.js";
import { loopBodyCases } from "../cases/loop-bodies.js";
import { loopCases } from "../cases/loops.js";
import { manifestCases } from "../cases/manifest.js";
import { nanCases } from "../cases/nan.js";
import { nonFiniteConvolutionCases } from "../cases/non-finite-convolution.js";
import { orderCases } from "../cases/order.js";
import { orderDisposalCases } from "../cases/order-disposal.js";
import { orderScriptCases } from "../cases/order-scripts.js";
import { outsideCases } from "../cases/outside.js";
import { publicBugCases } from "../cases/public-bugs.js";
import { randomCases } from "../cases/random.js";
import { rareCases } from "../cases/rare/rare-cases.js";
import { repeatedRunCases } from "../cases/repeated-runs.js";
import { rewriteCases } from "../cases/rewrites/rewrites.js";
import { scalarSlotCases } from "../cases/scalar-slots.js";
import { scatterCases } from "../cases/scatter.js";
import { sizeCases } from "../cases/sizes.js";
import { stateCases } from "../cases/state.js";
import { stateSafetyCases } from "../cases/state-safety.js";
import { statsCases } from "../cases/stats.js";
import { summationCases } from "../cases/summation.js";
import { transferCases } from "../cases/transfer.js";
import type { ConformanceCase } from "../conformance-case.js";

/** All cases except the training cases. Their ids are part of this package's version. */
export const allCases: readonly ConformanceCase[] = [
  ...manifestCases,
  ...factoryCases,
  ...transferCases,
  ...lifecycleCases,
  ...aliasingCases,
  ...aliasingChainCases,
  ...stateCases,
  ...stateSafetyCases,
  ...scalarSlotCases,
  ...constantStateCases,
  ...inPlaceCases,
  ...orderCases,
  ...orderScriptCases,
  ...orderDisposalCases,
  ...disposeWhileCompilingCases,
  ...repeatedRunCases,
  ...statsCases,
  ...programCases,
  ...manyRunCases,
  ...manyCases,
  ...nameCases,
  ...liveArrayCases,
  ...largeStateCases,
  ...castCases,
  ...opCases,
  ...integerArithmeticCases,
  ...integerReductionCases,
  ...integerCastCases,
  ...integerMovementCases,
  ...scatterCases,
  ...outsideCases,
  ...fusionCases,
  ...loopCases,
  ...loopBodyCases,
  ...rareCases,
  ...axisCases,
  ...optionCases,
  ...formCases,
  ...integerDivisionCases,
  ...sizeCases,
  ...tailCases,
  ...equalSideCases,
  ...nanCases,
  ...rewriteCases,
  ...nonFiniteConvolutionCases,
  ...finiteCheckCases,
  ...summationCases,
  ...randomCases,
  ...gradientCases,
  ...imageCases,
  ...determinismCases,
  ...leakCases,
  ...publicBugCases,
];

const ID = /^[a-z-]+\/[A-Za-z0-9-]+\/[a-z0-9-]+$/;

/** @throws for a duplicate id, or an id that is not of the form `group/feature/behaviour` */
export function checkIds(cases: readonly ConformanceCase[]): void {
  const seen = new Set<string>();
  for (const { id } of cases) {
    if (!ID.test(id)) throw new Error(`conformance: "${id}" is not group/feature/behaviour`);
    if (seen.has(id)) throw new Error(`conformance: two cases are named ${id}`);
    seen.add(id);
  }
}
