import {
  type Check,
  checkOptions,
  checks,
  type DefaultedOptions,
  isPlainObject,
  type OptionNames,
  withDefault,
} from "@mp/graph/internal";
import type { Signs } from "./dynamic-map.js";
import { STATE_FORMATS, type StateFormat } from "./state-format.js";

/** Options for how an optimizer stores its state between steps, in memory and in checkpoints; it computes in f32. */
export interface StateOptions<Slot extends string = string> {
  /**
   * Format of all slots, or formats by slot name, f32 for other slots: `bf16`; `f16` or `f8e4m3` with one scale per
   * tensor; `u8` with one scale per 256 elements, as in bitsandbytes. Default `f32`. Scalars always stay f32.
   */
  readonly states?: StateFormat | { readonly [K in Slot]?: StateFormat };
  /**
   * Rounding of stored values. `stochastic` rounds up or down at random so that the expected value is exact, with
   * random numbers from the step's key. Default `nearest`.
   */
  readonly rounding?: "nearest" | "stochastic";
  /** Tensors with fewer elements stay f32 if the format is `u8`. Default 4096, bitsandbytes' `min_8bit_size`. */
  readonly minU8Elements?: number;
}

/** The slots that may be stored in few bits, with the signs of their values. */
export type StateSlots<Slot extends string = string> = Readonly<Record<Slot, Signs>>;

const format: Check = checks.oneOf(...STATE_FORMATS);

/** The options with their defaults; an optimizer's description omits options at their defaults. */
export const STATE_OPTIONS: DefaultedOptions<StateOptions> = {
  states: withDefault("f32", format),
  rounding: withDefault("nearest", checks.oneOf("nearest", "stochastic")),
  minU8Elements: withDefault(4096, checks.count),
};

/** Makes the option table for an optimizer with these slots. */
export function stateOptions<Slot extends string>(
  slots: StateSlots<Slot>,
): DefaultedOptions<StateOptions<Slot>> {
  const formats: Check = (what, value) => {
    if (!isPlainObject(value)) return format(what, value);
    checkOptions<object>(what, value, slots as unknown as OptionNames<object>);
    for (const [slot, each] of Object.entries(value)) checks.optional(format)(`${what}.${slot}`, each);
  };
  return { ...STATE_OPTIONS, states: withDefault("f32", formats) };
}
