import { mapTensors, type Tensor } from "@mp/graph";
import { type OptionTable, readOptions } from "@mp/graph/internal";
import {
  add,
  div,
  greater,
  less,
  literal,
  maximum,
  minimum,
  mul,
  sqrt,
  sub,
  tanh,
  where,
} from "@mp/graph/ops";
import { compose } from "./composed.js";
import { average, biasCorrection, square, stepNumber } from "./moments.js";
import {
  type GradientTransformation,
  type LearningRate,
  type Optimizer,
  rate,
  zerosLike,
} from "./optimizer.js";
import { ADAM_ELSEWHERE, type AdamState, BETAS } from "./scale-by-adam.js";
import { type StateOptions, stateOptions } from "./states/state-options.js";
import { direction } from "./transformation.js";
import { decayHint } from "./weight-decay.js";

const SLOTS = { mean: "both", square: "nonNegative" } as const;

export interface ScaleByRadamOptions extends StateOptions<keyof typeof SLOTS> {
  /** Default 0.9. */
  readonly beta1?: number;
  /** Default 0.999; at 2/3 or less no step is rectified. */
  readonly beta2?: number;
  /** Added to √v before its bias is corrected, as PyTorch does; f32, at least 2^-100. Default 1e-8. */
  readonly epsilon?: number;
}

export interface RadamOptions extends ScaleByRadamOptions {
  readonly learningRate: LearningRate;
}

const SCALE_BY_RADAM = { ...stateOptions(SLOTS), ...BETAS } satisfies OptionTable<ScaleByRadamOptions>;
const RADAM = { learningRate: rate, ...SCALE_BY_RADAM } satisfies OptionTable<RadamOptions>;

type State = Pick<AdamState, "mean" | "square">;

/**
 * Rectified Adam (Liu et al., arXiv 1908.03265), as PyTorch computes it: momentum in the first steps, while the
 * variance of 1/√v is unbounded, then rectified Adam.
 */
export function radam(options: RadamOptions): Optimizer<State> {
  const settings = readOptions("radam", options, RADAM, {
    example: "{ learningRate: 1e-3 }",
    elsewhere: { ...ADAM_ELSEWHERE, ...decayHint("radam({ learningRate })") },
  });
  return compose("radam", settings, [part(settings)]);
}

/** The direction of RAdam, without its learning rate. */
export function scaleByRadam(options: ScaleByRadamOptions = {}): GradientTransformation<State> {
  return part(readOptions("scaleByRadam", options, SCALE_BY_RADAM, { elsewhere: ADAM_ELSEWHERE }));
}

/** Smallest effective length of the average v for a rectified step: for shorter ones, 1/√v has unbounded variance. */
const SHORTEST = 5;

function part(settings: Required<ScaleByRadamOptions>): GradientTransformation<State> {
  const { beta1, beta2, epsilon } = settings;
  const limit = 2 / (1 - beta2) - 1;
  return direction("scaleByRadam", settings, {
    slots: SLOTS,
    init: (parameters) => ({ mean: zerosLike(parameters), square: zerosLike(parameters) }),
    update: (gradients, state, _parameters, context) => {
      const mean = average(state.mean, gradients, beta1);
      const squares = average(state.square, mapTensors(square, gradients), beta2);
      const next = { mean, square: squares };
      const t = stepNumber(context);
      const c1 = biasCorrection(beta1, t);
      if (limit <= SHORTEST) return { updates: mapTensors((m) => div(m, c1), mean), state: next };
      const length = lengthAt(t, beta2, limit);
      const isRectified = greater(length, SHORTEST);
      const factor = div(sqrt(mul(rectification(length, limit), biasCorrection(beta2, t))), c1);
      const updates = mapTensors(
        (m, v) => where(isRectified, mul(div(m, add(sqrt(v), epsilon)), factor), div(m, c1)),
        mean,
        squares,
      );
      return { updates, state: next };
    },
  });
}

/**
 * Computes ρ∞ - 2t·βᵗ / (1 - βᵗ), the number of steps that v effectively averages at step t. For small t this is a
 * small difference of large numbers. So it is computed as a constant plus (h - (h·coth(h) - 1)) · 2/-ln(β) with h =
 * -t·ln(β)/2; for small h, a series gives h·coth(h) - 1.
 */
function lengthAt(t: Tensor, beta: number, limit: number): Tensor {
  const x = -Math.log(beta);
  const h = mul(t, x / 2);
  const hh = minimum(mul(h, h), 1);
  const series = [2 / 93555, -1 / 4725, 2 / 945, -1 / 45, 1 / 3].reduce<Tensor>(
    (sum, factor) => mul(add(sum, factor), hh),
    literal(0),
  );
  const bracket = where(less(h, 0.5), series, sub(div(h, tanh(h)), 1));
  return add(mul(sub(h, bracket), 2 / x), limit - 2 / x);
}

/** r², the square of the paper's rectification term. */
function rectification(length: Tensor, limit: number): Tensor {
  // Results for shorter lengths are not used, but must not be the root of a negative number.
  const l = maximum(length, SHORTEST);
  const share = limit / ((limit - 4) * (limit - 2));
  return mul(div(mul(sub(l, 4), sub(l, 2)), l), share);
}
