import type { ConformanceCase } from "../../conformance-case.js";
import { autocastCases } from "./autocast.js";
import { customGradientCases } from "./custom-gradient.js";
import { delayedScalingCases } from "./delayed-scaling.js";
import { trainingDeterminismCases } from "./determinism.js";
import { finiteStepCases } from "./finite-steps.js";
import { lateCounterCases } from "./late-counters.js";
import { trainingLeakCases } from "./leaks.js";
import { learningCases } from "./learning.js";
import { lossScaleEffectCases } from "./loss-scale-effects.js";
import { lossWeightCases } from "./loss-weights.js";
import { masterWeightsCases } from "./master-weights.js";
import { objectiveCases } from "./objectives.js";
import { overflowCases } from "./overflow.js";
import { rankCases } from "./ranks.js";
import { rankResumeCases } from "./ranks-resume.js";
import { shardCases } from "./ranks-shard.js";
import { recipeCases } from "./recipes.js";
import { recomputeCases } from "./recompute.js";
import { resumeCases } from "./resume.js";
import { runCases } from "./runs.js";
import { transactionCases } from "./transaction.js";
import { windowCases } from "./window.js";

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
  ...lossWeightCases,
  ...rankCases,
  ...rankResumeCases,
  ...shardCases,
  ...objectiveCases,
  ...recipeCases,
  ...delayedScalingCases,
  ...recomputeCases,
  ...runCases,
  ...resumeCases,
  ...trainingDeterminismCases,
  ...trainingLeakCases,
];
