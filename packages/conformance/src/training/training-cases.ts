import type { ConformanceCase } from "../conformance-case.js";
import { autocastCases } from "./cases/autocast.js";
import { customGradientCases } from "./cases/custom-gradient.js";
import { trainingDeterminismCases } from "./cases/determinism.js";
import { finiteStepCases } from "./cases/finite-steps.js";
import { lateCounterCases } from "./cases/late-counters.js";
import { trainingLeakCases } from "./cases/leaks.js";
import { learningCases } from "./cases/learning.js";
import { lossScaleEffectCases } from "./cases/loss-scale-effects.js";
import { masterWeightsCases } from "./cases/master-weights.js";
import { objectiveCases } from "./cases/objectives.js";
import { overflowCases } from "./cases/overflow.js";
import { rankCases } from "./cases/ranks.js";
import { rankResumeCases } from "./cases/ranks-resume.js";
import { shardCases } from "./cases/ranks-shard.js";
import { recomputeCases } from "./cases/recompute.js";
import { resumeCases } from "./cases/resume.js";
import { runCases } from "./cases/runs.js";
import { transactionCases } from "./cases/transaction.js";
import { windowCases } from "./cases/window.js";

/** Cases that train, for `training` of `describeConformance` and `runConformance`. They need `@mp/core`. */
export const trainingCases: readonly ConformanceCase[] = [
  ...finiteStepCases,
  ...lateCounterCases,
  ...customGradientCases,
  ...autocastCases,
  ...lossScaleEffectCases,
  ...learningCases,
  ...masterWeightsCases,
  ...transactionCases,
  ...overflowCases,
  ...windowCases,
  ...rankCases,
  ...rankResumeCases,
  ...shardCases,
  ...objectiveCases,
  ...recomputeCases,
  ...runCases,
  ...resumeCases,
  ...trainingDeterminismCases,
  ...trainingLeakCases,
];
