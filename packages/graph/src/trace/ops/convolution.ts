/** Convolutions over 1 to 3 spatial axes, channels first. f16 and bf16 accumulate in f32 and are rounded once. */
import { invalid } from "../../errors.js";
import type { OpAttributes } from "../../graph/attributes.js";
import { halvedPads, windowExtent } from "../../graph/window.js";
import { checkOptions, type OptionNames } from "../../options.js";
import type { Shape } from "../../shape.js";
import { asTensor, emit } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { alongAxes, readWindow, type WindowOptions } from "./window-options.js";

/** Options of `conv`. The default of `strides` is 1. */
export interface ConvOptions extends WindowOptions {
  /** Added to the result: one element per result channel, [M]. */
  readonly bias?: Tensor;
  /** Number of groups that the channels are split into; each is convolved with its own kernels. Default 1. */
  readonly group?: number;
}

export interface ConvTransposeOptions extends ConvOptions {
  /**
   * Number of rows added at the end of each result axis, fewer than the axis's stride. `conv` maps several input sizes
   * to one result size; this option chooses among these input sizes. Default 0.
   */
  readonly outputPadding?: number | readonly number[];
}

const CONV: OptionNames<ConvOptions> = {
  bias: true,
  strides: true,
  pads: true,
  dilations: true,
  group: true,
  autoPad: true,
};

type ConvOp = "Conv" | "ConvTranspose";

/** The sizes of the spatial axes of x [N, C, d…] or w [M, C, k…]. */
const spatial = (op: ConvOp, part: Tensor): Shape => asTensor(part, op).shape.slice(2);

function readAttributes(op: ConvOp, x: Tensor, w: Tensor, options: ConvOptions): OpAttributes["Conv"] {
  const { group = 1 } = options;
  return { ...readWindow(op, spatial(op, x), spatial(op, w), options, 1), group };
}

const listOperands = (x: Tensor, w: Tensor, { bias }: ConvOptions): readonly Tensor[] =>
  bias === undefined ? [x, w] : [x, w, bias];

/**
 * Convolves x [N, C, d…] with w [M, C / group, k…] to [N, M, o…]; along each axis o = ⌊(d + pads - (k - 1) · dilation
 * - 1) / stride⌋ + 1. The kernel is not flipped.
 * @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH, MP_INVALID_ARGUMENT
 */
export function conv(x: Tensor, w: Tensor, options: ConvOptions = {}): Tensor {
  checkOptions("Conv", options, CONV, "{ strides: 2 }");
  return emit("Conv", listOperands(x, w, options), readAttributes("Conv", x, w, options));
}

/**
 * The transposed convolution (the gradient of `conv`) of x [N, C, d…] with w [C, M / group, k…] to [N, M,
 * o…]; o = (d - 1) · stride + (k - 1) · dilation + 1 + outputPadding - pads.
 * @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH, MP_INVALID_ARGUMENT
 */
export function convTranspose(x: Tensor, w: Tensor, options: ConvTransposeOptions = {}): Tensor {
  checkOptions("ConvTranspose", options, { ...CONV, outputPadding: true }, "{ strides: 2 }");
  const attributes = readAttributes("ConvTranspose", x, w, options);
  const { strides, dilations } = attributes;
  const operands = listOperands(x, w, options);
  if (options.autoPad !== "same") {
    const { outputPadding = 0 } = options;
    const rows = alongAxes("ConvTranspose", "outputPadding", outputPadding, strides.length);
    return emit("ConvTranspose", operands, { ...attributes, outputPadding: rows });
  }
  if (options.outputPadding !== undefined) {
    throw invalid('ConvTranspose: takes outputPadding or autoPad "same", got both');
  }
  // A kernel shorter than its stride leaves rows that no tap reaches.
  const surplus = spatial("ConvTranspose", w).map(
    (taps, axis) => windowExtent(taps, dilations[axis] ?? 1) - (strides[axis] ?? 1),
  );
  return emit("ConvTranspose", operands, {
    ...attributes,
    pads: halvedPads(surplus.map((total) => Math.max(0, total))),
    outputPadding: surplus.map((total) => Math.max(0, -total)),
  });
}
