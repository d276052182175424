/** The state of PyTorch's `GradScaler`, as `state_dict()` returns it. */
export interface PyTorchScalerState {
  readonly scale: number;
  readonly growth_factor: number;
  readonly backoff_factor: number;
  readonly growth_interval: number;
  /** Finite steps since the last overflow or growth. */
  readonly _growth_tracker: number;
}

/** The state of Keras 3's `LossScaleOptimizer`: its two variables, and two entries of its `get_config()`. */
export interface KerasScalerState {
  readonly dynamic_scale: number;
  /** Finite steps since the last overflow or growth. */
  readonly step_counter: number;
  readonly dynamic_growth_steps: number;
  /** The scale before the first step, which no longer matters once there is a `dynamic_scale`. */
  readonly initial_scale?: number;
}

/** The state of DeepSpeed's `DynamicLossScaler`: its attributes of these names. */
export interface DeepSpeedScalerState {
  readonly cur_scale: number;
  /** Updates so far. */
  readonly cur_iter: number;
  /** The update that overflowed last; -1 before the first. */
  readonly last_overflow_iter: number;
  readonly scale_factor: number;
  readonly scale_window: number;
  readonly min_scale: number;
  /** Number of overflows that reduce the scale; `cur_hysteresis` counts down from this number. */
  readonly delayed_shift: number;
  /** Number of further overflows until the scale is reduced. */
  readonly cur_hysteresis: number;
  /** Whether each finite step restores `cur_hysteresis`; if false, only growth does. */
  readonly consecutive_hysteresis: boolean;
  /** Whether an overflow at `min_scale` ends the run. A trainer skips instead, at most `maxConsecutiveSkips` times. */
  readonly raise_error_at_min_scale?: boolean;
}

/**
 * The state of Megatron Core's `DynamicGradScaler`: the result of its `state_dict()`, and attributes that
 * `state_dict()` leaves out.
 */
export interface MegatronScalerState {
  readonly scale: number;
  /** Finite steps since the last overflow or growth. */
  readonly growth_tracker: number;
  /** Overflows that are left until the scale is reduced; may be negative. */
  readonly hysteresis_tracker: number;
  readonly growth_factor: number;
  readonly backoff_factor: number;
  readonly growth_interval: number;
  readonly hysteresis: number;
  readonly min_scale: number;
}

/** The states of a dynamic loss scaler by framework, under the framework's names. */
export interface ScalerStates {
  readonly pytorch: PyTorchScalerState;
  readonly keras: KerasScalerState;
  readonly deepspeed: DeepSpeedScalerState;
  readonly megatron: MegatronScalerState;
}

export type ScalerFramework = keyof ScalerStates;
