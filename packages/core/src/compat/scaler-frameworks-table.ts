/**
 * Translates each framework's dynamic loss scaler to options and state of `dynamicLossScale`, and back. The rules
 * come from the frameworks' sources: `_amp_update_scale_` of PyTorch, `LossScaleOptimizer` of Keras 3,
 * `DynamicLossScaler.update_scale` of DeepSpeed, `DynamicGradScaler.update` of Megatron Core.
 */
import { type Check, checks, type OptionTable, withDefault } from "@mp/graph/internal";
import { type DynamicLossScaleOptions, LARGEST_SCALE, SMALLEST_SCALE } from "../precision/loss-scaler.js";
import { inexpressible } from "./refusal.js";
import type {
  DeepSpeedScalerState,
  KerasScalerState,
  MegatronScalerState,
  PyTorchScalerState,
  ScalerFramework,
  ScalerStates,
} from "./scaler-states.js";

/** Scale and counters on the host, between two steps. */
export interface ScalerCounts {
  readonly scale: number;
  readonly goodSteps: number;
  readonly tolerance: number;
}

/** A scaler expressed as options and state of `dynamicLossScale`. */
export interface ExpressedScaler {
  readonly options: Required<DynamicLossScaleOptions>;
  readonly counts: ScalerCounts;
}

export interface FrameworkScaler<S> {
  /** A check for each field of the state. */
  readonly fields: OptionTable<S>;
  /** @throws MP_UNSUPPORTED naming a field that `dynamicLossScale` cannot express */
  read(state: S, what: string): ExpressedScaler;
  /** @throws MP_UNSUPPORTED naming an option that the framework does not have */
  write(scaler: ExpressedScaler, what: string): S;
}

const isNumber = (value: unknown): value is number => typeof value === "number";

const scale: Check = checks.claim(
  "a number of f32 from 2^-126 to 2^126",
  (value) =>
    isNumber(value) && value >= SMALLEST_SCALE && value <= LARGEST_SCALE && Math.fround(value) === value,
);
const growth: Check = checks.claim("a number ≥ 1", (value) => isNumber(value) && value >= 1);
const backoff: Check = checks.claim("between 0 and 1", (value) => isNumber(value) && value > 0 && value < 1);
const counter: Check = checks.integer(0, 2 ** 31 - 2);

/** Bounds for scalers that have none: the scales that f32 can divide by. */
const UNBOUNDED = { minScale: SMALLEST_SCALE, maxScale: LARGEST_SCALE } as const;

/**
 * Expects a factor that f32 holds exactly, since the graph multiplies by an f32 factor and PyTorch by an f64 factor.
 */
function inF32(what: string, field: string, factor: number): number {
  if (Math.fround(factor) === factor) return factor;
  return inexpressible(what, field, factor, "which f32 rounds; take 0.5, 0.75, 2 or another that it holds");
}

/** Expects a counter below its limit, since frameworks that test for equality never reset a counter beyond it. */
function below(what: string, field: string, value: number, limit: number): number {
  if (value < limit) return value;
  return inexpressible(what, field, value, `and with an interval of ${limit} it would never grow again`);
}

/** @throws MP_UNSUPPORTED for an option without a field in the framework */
function expectOptions(
  what: string,
  options: ExpressedScaler["options"],
  only: Partial<ExpressedScaler["options"]>,
): void {
  for (const [name, value] of Object.entries(only)) {
    const own = options[name as keyof typeof options];
    if (own !== value)
      inexpressible(what, name, own, `and the framework has no field for it, it has ${value}`);
  }
}

const pytorch: FrameworkScaler<PyTorchScalerState> = {
  fields: {
    scale,
    growth_factor: growth,
    backoff_factor: backoff,
    growth_interval: checks.count,
    _growth_tracker: counter,
  },
  read: (state, what) => ({
    options: {
      ...UNBOUNDED,
      initialScale: state.scale,
      growthFactor: inF32(what, "growth_factor", state.growth_factor),
      backoffFactor: inF32(what, "backoff_factor", state.backoff_factor),
      growthInterval: state.growth_interval,
      growthDelay: 0,
      hysteresis: 1,
      refill: "on-good-step",
    },
    counts: {
      scale: state.scale,
      goodSteps: below(what, "_growth_tracker", state._growth_tracker, state.growth_interval),
      tolerance: 1,
    },
  }),
  write: ({ options, counts }, what) => {
    expectOptions(what, options, { growthDelay: 0, hysteresis: 1 });
    return {
      scale: counts.scale,
      growth_factor: options.growthFactor,
      backoff_factor: options.backoffFactor,
      growth_interval: options.growthInterval,
      _growth_tracker: counts.goodSteps,
    };
  },
};

const keras: FrameworkScaler<KerasScalerState> = {
  fields: {
    dynamic_scale: scale,
    step_counter: counter,
    dynamic_growth_steps: checks.count,
    initial_scale: checks.optional(checks.claim("a number", isNumber)),
  },
  read: (state, what) => ({
    options: {
      ...UNBOUNDED,
      initialScale: state.dynamic_scale,
      growthFactor: 2,
      backoffFactor: 0.5,
      growthInterval: state.dynamic_growth_steps,
      growthDelay: 0,
      hysteresis: 1,
      refill: "on-good-step",
    },
    counts: {
      scale: state.dynamic_scale,
      goodSteps: below(what, "step_counter", state.step_counter, state.dynamic_growth_steps),
      tolerance: 1,
    },
  }),
  write: ({ options, counts }, what) => {
    expectOptions(what, options, { growthDelay: 0, hysteresis: 1, growthFactor: 2, backoffFactor: 0.5 });
    return {
      dynamic_scale: counts.scale,
      step_counter: counts.goodSteps,
      dynamic_growth_steps: options.growthInterval,
      initial_scale: options.initialScale,
    };
  },
};

/** DeepSpeed does not count the first finite step after an overflow, because it compares before it counts. */
const DEEPSPEED_DELAY = 1;

const deepspeed: FrameworkScaler<DeepSpeedScalerState> = {
  fields: {
    cur_scale: scale,
    cur_iter: counter,
    last_overflow_iter: checks.integer(-1, 2 ** 31 - 2),
    scale_factor: growth,
    scale_window: checks.count,
    min_scale: scale,
    delayed_shift: checks.count,
    cur_hysteresis: checks.count,
    consecutive_hysteresis: checks.truth,
    raise_error_at_min_scale: withDefault(true, checks.truth),
  },
  read: (state, what) => {
    const { cur_scale, cur_iter, last_overflow_iter, scale_factor, scale_window, min_scale } = state;
    // DeepSpeed divides in f64 by the factor. In f32 one multiplication does the same only for powers of two.
    if (!Number.isInteger(Math.log2(scale_factor)))
      inexpressible(what, "scale_factor", scale_factor, "and only by a power of two f32 divides exactly");
    if (last_overflow_iter >= cur_iter)
      inexpressible(what, "last_overflow_iter", last_overflow_iter, `and cur_iter is only ${cur_iter}`);
    if (cur_scale < min_scale)
      inexpressible(what, "cur_scale", cur_scale, `which is below min_scale ${min_scale}`);
    const finiteSteps = cur_iter - last_overflow_iter - 1;
    return {
      options: {
        initialScale: cur_scale,
        growthFactor: scale_factor,
        backoffFactor: 1 / scale_factor,
        growthInterval: scale_window,
        growthDelay: DEEPSPEED_DELAY,
        minScale: min_scale,
        maxScale: LARGEST_SCALE,
        hysteresis: state.delayed_shift,
        refill: state.consecutive_hysteresis ? "on-good-step" : "on-growth",
      },
      counts: {
        scale: cur_scale,
        goodSteps: finiteSteps === 0 ? -DEEPSPEED_DELAY : (finiteSteps - DEEPSPEED_DELAY) % scale_window,
        tolerance: state.delayed_shift === 1 ? 1 : state.cur_hysteresis,
      },
    };
  },
  write: ({ options, counts }, what) => {
    const { growthFactor, growthInterval, hysteresis } = options;
    expectOptions(what, options, { growthDelay: DEEPSPEED_DELAY, backoffFactor: 1 / growthFactor });
    return {
      cur_scale: counts.scale,
      // DeepSpeed reads only the difference to `last_overflow_iter`, so the count begins after an overflow at -1.
      cur_iter: counts.goodSteps + DEEPSPEED_DELAY,
      last_overflow_iter: -1,
      scale_factor: growthFactor,
      scale_window: growthInterval,
      min_scale: options.minScale,
      delayed_shift: hysteresis,
      cur_hysteresis: counts.tolerance,
      consecutive_hysteresis: options.refill === "on-good-step",
      raise_error_at_min_scale: true,
    };
  },
};

const megatron: FrameworkScaler<MegatronScalerState> = {
  fields: {
    scale,
    growth_tracker: counter,
    hysteresis_tracker: checks.integer(-(2 ** 31), 2 ** 31 - 1),
    growth_factor: growth,
    backoff_factor: backoff,
    growth_interval: checks.count,
    hysteresis: checks.count,
    min_scale: checks.claim("a number above 0", (value) => isNumber(value) && value > 0),
  },
  read: (state, what) => {
    const minScale = Math.fround(state.min_scale);
    if (minScale < SMALLEST_SCALE)
      inexpressible(what, "min_scale", state.min_scale, "and f32 cannot divide by less than 2^-126");
    if (state.scale < minScale)
      inexpressible(what, "scale", state.scale, `which is below min_scale ${state.min_scale}`);
    return {
      options: {
        initialScale: state.scale,
        // Megatron's factors are f32 tensors too.
        growthFactor: state.growth_factor,
        backoffFactor: state.backoff_factor,
        growthInterval: state.growth_interval,
        growthDelay: 0,
        minScale,
        maxScale: LARGEST_SCALE,
        hysteresis: state.hysteresis,
        refill: "on-growth",
      },
      counts: {
        scale: state.scale,
        goodSteps: below(what, "growth_tracker", state.growth_tracker, state.growth_interval),
        // Megatron counts on below 1, and this scaler stays at 1. With either, the next overflow reduces the scale.
        tolerance: Math.max(1, state.hysteresis_tracker),
      },
    };
  },
  write: ({ options, counts }, what) => {
    // If the first overflow reduces the scale, both refill rules have the same effect.
    if (options.hysteresis > 1) expectOptions(what, options, { refill: "on-growth" });
    expectOptions(what, options, { growthDelay: 0 });
    return {
      scale: counts.scale,
      growth_tracker: counts.goodSteps,
      hysteresis_tracker: counts.tolerance,
      growth_factor: options.growthFactor,
      backoff_factor: options.backoffFactor,
      growth_interval: options.growthInterval,
      hysteresis: options.hysteresis,
      min_scale: options.minScale,
    };
  },
};

export const FRAMEWORK_SCALERS: { readonly [F in ScalerFramework]: FrameworkScaler<ScalerStates[F]> } = {
  pytorch,
  keras,
  deepspeed,
  megatron,
};
