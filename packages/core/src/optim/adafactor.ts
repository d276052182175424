import { checks, invalid, type OptionTable, readOptions, withDefault } from "@mp/graph/internal";
import { div, minimum, sqrt } from "@mp/graph/ops";
import { compose } from "./composed.js";
import {
  type FactoredState,
  SCALE_BY_FACTORED_RMS,
  type ScaleByFactoredRmsOptions,
  selectFactored,
} from "./factored.js";
import { hyperparameter } from "./hyperparameter.js";
import { stepNumber } from "./moments.js";
import { type LearningRate, type Optimizer, rate, rateAt, type Schedule } from "./optimizer.js";
import { clipByBlockRms, scaleByParameterRms } from "./root-mean-square.js";
import { isSettable } from "./settable.js";
import { decayHint } from "./weight-decay.js";

export interface AdafactorOptions extends ScaleByFactoredRmsOptions {
  /** Default 0.01, the paper's and PyTorch's. */
  readonly learningRate?: LearningRate;
  /** Limit the rate of step t to 1/√t; must be false for a settable rate. Default true, as in Keras and PyTorch. */
  readonly relativeStep?: boolean;
  /** Scale steps by the parameter's root mean square, at least by this; false: no scaling. Default 1e-3. */
  readonly scaleParameter?: number | false;
  /** Limit the root mean square of a direction to this; false: no clipping. Default 1. */
  readonly clipThreshold?: number | false;
}

const positive = hyperparameter({ from: 0, open: true });
const isOff = checks.claim("a number or false", (value) => value === false);
/** Checks that an option is a number above 0, or false. */
const positiveOrFalse: typeof positive = (what, value) =>
  (typeof value === "boolean" ? isOff : positive)(what, value);

const ADAFACTOR = {
  learningRate: withDefault<LearningRate>(0.01, rate),
  ...SCALE_BY_FACTORED_RMS,
  relativeStep: withDefault(true, checks.truth),
  scaleParameter: withDefault<number | false>(1e-3, positiveOrFalse),
  clipThreshold: withDefault<number | false>(1, positiveOrFalse),
} satisfies OptionTable<AdafactorOptions>;

/**
 * Adafactor (Shazeer & Stern, arXiv 1804.04235): clips directions and makes steps relative to the parameters. The
 * second moments of a matrix take the memory of one row and one column; there are no first moments.
 */
export function adafactor(options: AdafactorOptions = {}): Optimizer<FactoredState> {
  const settings = readOptions("adafactor", options, ADAFACTOR, {
    example: "{ learningRate: 0.01 }",
    elsewhere: decayHint("adafactor()"),
  });
  const { relativeStep, clipThreshold, scaleParameter } = settings;
  const learningRate = relativeStep ? relative(settings.learningRate) : settings.learningRate;
  return compose("adafactor", { ...settings, learningRate }, [
    selectFactored(settings),
    ...(clipThreshold === false ? [] : [clipByBlockRms(clipThreshold)]),
    ...(scaleParameter === false ? [] : [scaleByParameterRms(scaleParameter)]),
  ]);
}

/** Limits the rate of step t to 1/√t. */
function relative(learningRate: LearningRate): Schedule {
  if (isSettable(learningRate)) {
    throw invalid("adafactor: a settable rate is not relative to the step; set relativeStep: false");
  }
  const schedule: Schedule = (step) => {
    const limit = div(1, sqrt(stepNumber({ step })));
    return minimum(typeof learningRate === "number" ? learningRate : rateAt(learningRate, { step }), limit);
  };
  const name = typeof learningRate === "number" ? String(learningRate) : learningRate.name || "unnamed";
  return Object.defineProperty(schedule, "name", { value: name });
}
