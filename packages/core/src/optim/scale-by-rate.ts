/** Learning rates as parts of a chain. */

import { mapTensors } from "@mp/graph";
import { checks, described } from "@mp/graph/internal";
import { mul } from "@mp/graph/ops";
import { compose } from "./composed.js";
import {
  type GradientTransformation,
  type LearningRate,
  type Optimizer,
  rate,
  rateAt,
  type Schedule,
} from "./optimizer.js";
import { scaleUpdates } from "./transformation.js";

/**
 * Ends a chain of directions: w ← w - η·d. `chain(scaleByAdam(), scaleByLearningRate(1e-3))` is `adam({
 * learningRate: 1e-3 })`, except that its state has other paths.
 * @throws MP_INVALID_ARGUMENT for a constant rate that is negative or not finite in f32
 */
export function scaleByLearningRate(learningRate: LearningRate): Optimizer {
  rate("scaleByLearningRate: the rate", learningRate);
  return compose("scaleByLearningRate", { learningRate }, []);
}

/**
 * Multiplies directions by the factor that `schedule` returns, of any sign. The chain still needs a learning rate at
 * its end.
 */
export function scaleBySchedule(schedule: Schedule): GradientTransformation {
  checks.callback("scaleBySchedule: the schedule", schedule);
  return scaleUpdates(
    described("scaleBySchedule", { schedule }),
    "element",
    (directions, _parameters, context) => {
      const factor = rateAt(schedule, context);
      return { updates: mapTensors((d) => mul(d, factor), directions), rates: [factor] };
    },
  );
}
