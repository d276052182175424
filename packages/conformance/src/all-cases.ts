import { autocastCases } from "./cases/autocast.js";
import { castCases } from "./cases/cast.js";
import { determinismCases } from "./cases/determinism.js";
import { factoryCases } from "./cases/factory.js";
import { finiteCheckCases } from "./cases/finite-check.js";
import { gradientCases } from "./cases/gradient.js";
import { imageCases } from "./cases/image.js";
import { largeCases } from "./cases/large.js";
import { leakCases } from "./cases/leaks.js";
import { lifecycleCases } from "./cases/lifecycle.js";
import { manifestCases } from "./cases/manifest.js";
import { nanCases } from "./cases/nan.js";
import { opCases } from "./cases/op-cases.js";
import { randomCases } from "./cases/random.js";
import { stateCases } from "./cases/state.js";
import { stateSafetyCases } from "./cases/state-safety.js";
import { summationCases } from "./cases/summation.js";
import { allReduceCases } from "./cases/training/all-reduce.js";
import { badInputCases } from "./cases/training/bad-input.js";
import { learningCases } from "./cases/training/learning.js";
import { scalerTraceCases } from "./cases/training/loss-scale.js";
import { lossScaleEffectCases } from "./cases/training/loss-scale-effects.js";
import { masterWeightsCases } from "./cases/training/master-weights.js";
import { overflowCases } from "./cases/training/overflow.js";
import { precisionReportCases } from "./cases/training/precision-report.js";
import { recomputeCases } from "./cases/training/recompute.js";
import { resumeCases } from "./cases/training/resume.js";
import { runCases } from "./cases/training/runs.js";
import { skipCauseCases } from "./cases/training/skip-causes.js";
import { transactionCases } from "./cases/training/transaction.js";
import { windowCases } from "./cases/training/window.js";
import { transferCases } from "./cases/transfer.js";
import type { ConformanceCase } from "./conformance-case.js";

/** The whole suite. Its size and its ids are part of this package's version. */
export const allCases: readonly ConformanceCase[] = [
  ...manifestCases,
  ...factoryCases,
  ...transferCases,
  ...lifecycleCases,
  ...stateCases,
  ...stateSafetyCases,
  ...castCases,
  ...opCases,
  ...largeCases,
  ...nanCases,
  ...finiteCheckCases,
  ...summationCases,
  ...randomCases,
  ...gradientCases,
  ...imageCases,
  ...autocastCases,
  ...scalerTraceCases,
  ...lossScaleEffectCases,
  ...learningCases,
  ...masterWeightsCases,
  ...transactionCases,
  ...skipCauseCases,
  ...overflowCases,
  ...precisionReportCases,
  ...windowCases,
  ...allReduceCases,
  ...recomputeCases,
  ...runCases,
  ...resumeCases,
  ...determinismCases,
  ...leakCases,
  ...badInputCases,
];

const ID = /^[a-z-]+\/[A-Za-z0-9-]+\/[a-z0-9-]+$/;

/** @throws for an id that is taken or not of the form `group/feature/behaviour` */
export function checkIds(cases: readonly ConformanceCase[]): void {
  const seen = new Set<string>();
  for (const { id } of cases) {
    if (!ID.test(id)) throw new Error(`conformance: "${id}" is not group/feature/behaviour`);
    if (seen.has(id)) throw new Error(`conformance: two cases are named ${id}`);
    seen.add(id);
  }
}
