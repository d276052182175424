import { mapTensors, type TensorTree } from "@mp/graph";
import { type OptionTable, readOptions, withDefault } from "@mp/graph/internal";
import { sign } from "@mp/graph/ops";
import { compose } from "./composed.js";
import { averageFactor } from "./hyperparameter.js";
import { average } from "./moments.js";
import {
  type GradientTransformation,
  type LearningRate,
  type Optimizer,
  rate,
  zerosLike,
} from "./optimizer.js";
import { ADAM_ELSEWHERE } from "./scale-by-adam.js";
import { type StateOptions, stateOptions } from "./states/state-options.js";
import { direction } from "./transformation.js";
import { decay, decayBy } from "./weight-decay.js";

const SLOTS = { mean: "both" } as const;

export interface ScaleByLionOptions extends StateOptions<keyof typeof SLOTS> {
  /** Weight of the momentum in the direction; default 0.9. */
  readonly beta1?: number;
  /** Decay of the momentum; default 0.99. */
  readonly beta2?: number;
}

export interface LionOptions extends ScaleByLionOptions {
  readonly learningRate: LearningRate;
  /** Decoupled weight decay of the master weights; default 1e-3, as in optax. */
  readonly weightDecay?: number;
}

const SCALE_BY_LION = {
  ...stateOptions(SLOTS),
  beta1: withDefault(0.9, averageFactor),
  beta2: withDefault(0.99, averageFactor),
} satisfies OptionTable<ScaleByLionOptions>;
const LION = {
  learningRate: rate,
  ...SCALE_BY_LION,
  weightDecay: withDefault(1e-3, decay),
} satisfies OptionTable<LionOptions>;

type State = { readonly mean: TensorTree };

/** Chen et al., arXiv 2302.06675: w ← w - η·(sign(β₁·m + (1-β₁)·g) + λ·w), then m ← β₂·m + (1-β₂)·g. */
export function lion(options: LionOptions): Optimizer<State> {
  const settings = readOptions("lion", options, LION, {
    example: "{ learningRate: 1e-4 }",
    elsewhere: ADAM_ELSEWHERE,
  });
  return compose("lion", settings, [part(settings), ...decayBy(settings.weightDecay)]);
}

/** The direction of Lion, without decay and learning rate. */
export function scaleByLion(options: ScaleByLionOptions = {}): GradientTransformation<State> {
  return part(readOptions("scaleByLion", options, SCALE_BY_LION, { elsewhere: ADAM_ELSEWHERE }));
}

function part(settings: Required<ScaleByLionOptions>): GradientTransformation<State> {
  const { beta1, beta2 } = settings;
  return direction("scaleByLion", settings, {
    slots: SLOTS,
    init: (parameters) => ({ mean: zerosLike(parameters) }),
    update: (gradients, { mean }) => ({
      updates: mapTensors(sign, average(mean, gradients, beta1)),
      state: { mean: average(mean, gradients, beta2) },
    }),
  });
}
