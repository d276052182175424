/** The options that convolutions and pools share, and their conversion to the attributes of the graph. */
import { invalid } from "../../errors.js";
import type { KernelWindow, Op } from "../../graph/attributes.js";
import { samePads } from "../../graph/window.js";
import type { Shape } from "../../shape.js";
import { shown } from "../../shown.js";

export interface WindowOptions {
  /** Step of the window: one number per spatial axis, or one number for all axes. */
  readonly strides?: number | readonly number[];
  /** Padding: one number for all sides, one per axis (for both sides), or all begins, then all ends. Default 0. */
  readonly pads?: number | readonly number[];
  /** Distance between the taps; default 1. */
  readonly dilations?: number | readonly number[];
  /**
   * A padding rule instead of `pads`. `same`: the result has size ⌈size / stride⌉ (size · stride for a transposed
   * convolution); of an odd padding, the end gets one more than the beginning. `valid`: no padding.
   */
  readonly autoPad?: "same" | "valid";
}

/**
 * Expands an option with one number for all axes to one number per axis; type inference checks the numbers.
 * @throws MP_INVALID_ARGUMENT for anything else
 */
export function alongAxes(what: string, name: string, given: unknown, rank: number): readonly number[] {
  if (typeof given === "number") return new Array<number>(rank).fill(given);
  if (Array.isArray(given)) return [...given];
  throw invalid(`${what}: ${name} takes a number or one for each axis, got ${shown(given)}`);
}

function readPads(op: Op, given: unknown, rank: number): readonly number[] {
  const pads = typeof given === "number" ? new Array<number>(rank).fill(given) : given;
  if (Array.isArray(pads) && pads.length === rank) return [...pads, ...pads];
  if (Array.isArray(pads) && pads.length === 2 * rank) return [...pads];
  throw invalid(
    `${op}: pads takes a number, ${rank} for both sides of each axis, or ${2 * rank}, all begins and then all ends, got ${shown(given)}`,
  );
}

/**
 * Reads the window of a kernel over the spatial axes. With `autoPad: "same"` computes the pads of a convolution.
 * @throws MP_INVALID_ARGUMENT for values of another type, and for both pads and autoPad
 */
export function readWindow(
  op: Op,
  sizes: Shape,
  kernel: Shape,
  options: WindowOptions,
  defaultStrides: number | readonly number[],
): KernelWindow {
  const { autoPad } = options;
  if (autoPad !== undefined && autoPad !== "same" && autoPad !== "valid") {
    throw invalid(`${op}: autoPad must be "same" or "valid", got ${shown(autoPad)}`);
  }
  if (autoPad !== undefined && options.pads !== undefined) {
    throw invalid(`${op}: takes pads or autoPad, got both`);
  }
  const { strides = defaultStrides, dilations = 1, pads = 0 } = options;
  const window = {
    strides: alongAxes(op, "strides", strides, sizes.length),
    pads: readPads(op, pads, sizes.length),
    dilations: alongAxes(op, "dilations", dilations, sizes.length),
  };
  // Type inference rejects numbers that do not make a window.
  const isWindow = [...window.strides, ...window.dilations].every(
    (given) => Number.isSafeInteger(given) && given > 0,
  );
  return autoPad === "same" && isWindow ? { ...window, pads: samePads(sizes, kernel, window) } : window;
}
