import { checks, type DefaultedOptions, readOptions, withDefault } from "@mp/graph/internal";

export interface DelayedScalingOptions {
  /** Number of steps whose largest magnitudes are kept, TransformerEngine's `amax_history_len`. Default 16. */
  readonly history?: number;
  /** Powers of two that stay free above the largest magnitude. Default 0. */
  readonly margin?: number;
  /** Whether a scale is made for the largest magnitude of the history (default) or for the last step's. */
  readonly algorithm?: "max" | "most_recent";
}

export type DelayedScaling = Required<DelayedScalingOptions>;

const OPTIONS: DefaultedOptions<DelayedScalingOptions> = {
  history: withDefault(16, checks.integer(1, 65_536)),
  margin: withDefault(0, checks.integer(0, 64)),
  algorithm: withDefault("max", checks.oneOf("max", "most_recent")),
};

/** Scales by a history of magnitudes, as `DelayedScaling` of TransformerEngine: for `float8({ scaling })`. */
export function delayedScaling(options: DelayedScalingOptions = {}): DelayedScaling {
  return Object.freeze(readOptions("delayedScaling", options, OPTIONS));
}
