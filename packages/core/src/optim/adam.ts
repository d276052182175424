/** Adam and AdamW. Epsilon and the moments are f32: in f16, 1e-8 would round to 0. */
import { type OptionTable, readOptions, withDefault, withoutDefaults } from "@mp/graph/internal";
import { compose } from "./composed.js";
import { type LearningRate, type Optimizer, rate } from "./optimizer.js";
import {
  ADAM_ELSEWHERE,
  type AdamState,
  adamPart,
  LATER,
  SCALE_BY_ADAM,
  type ScaleByAdamOptions,
} from "./scale-by-adam.js";
import { addDecayedWeights, decay } from "./weight-decay.js";

export interface AdamOptions extends ScaleByAdamOptions {
  readonly learningRate: LearningRate;
}

const ADAM = { learningRate: rate, ...SCALE_BY_ADAM } satisfies OptionTable<AdamOptions>;
const HINTS = { example: "{ learningRate: 1e-3 }", elsewhere: ADAM_ELSEWHERE };

/** Kingma & Ba, arXiv 1412.6980, algorithm 1. The bias correction counts applied steps only. */
export function adam(options: AdamOptions): Optimizer<AdamState> {
  const settings = readOptions("adam", options, ADAM, {
    ...HINTS,
    elsewhere: {
      ...HINTS.elsewhere,
      weightDecay:
        "use adamW({ learningRate, weightDecay }), or chain(weightDecay(1e-4), adam({ learningRate }))",
    },
  });
  return compose("adam", withoutDefaults(settings, LATER), [adamPart(settings)]);
}

export interface AdamWOptions extends AdamOptions {
  /** Decoupled weight decay of the master weights; default 0.01. */
  readonly weightDecay?: number;
}

const ADAM_W = {
  ...ADAM,
  weightDecay: withDefault(0.01, decay),
} satisfies OptionTable<AdamWOptions>;

/** Loshchilov & Hutter, arXiv 1711.05101: Adam plus w ← w - η·λ·w. */
export function adamW(options: AdamWOptions): Optimizer<AdamState> {
  const settings = readOptions("adamW", options, ADAM_W, HINTS);
  const parts = [adamPart(settings), addDecayedWeights(settings.weightDecay)];
  return compose("adamW", withoutDefaults(settings, LATER), parts);
}
