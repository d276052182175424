/** Convolutions over 1 to 3 spatial axes, channels first. Halves accumulate in f32 and are rounded once. */
import { MpError } from "../../errors.js";
import type { OpAttributes } from "../../graph/attributes.js";
import { windowExtent } from "../../graph/infer/convolution.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { shown } from "../../shown.js";
import { asTensor, emit } from "../emit.js";
import type { Tensor } from "../tensor.js";

export interface ConvOptions {
  /** One number a result channel, [M]. */
  readonly bias?: Tensor;
  /** A number stands for one of each axis; default 1. */
  readonly strides?: number | readonly number[];
  /** All begins, then all ends; a number stands for all of them. Default 0. */
  readonly pads?: number | readonly number[];
  /** Distance between the kernel's taps; default 1. */
  readonly dilations?: number | readonly number[];
  /** Channels are cut into that many parts, each convolved with kernels of its own; default 1. */
  readonly group?: number;
  /**
   * In place of `pads`. `same`: results are ⌈size / stride⌉ long (of a transposed convolution size · stride), and of
   * an odd number of pads the end gets one more. `valid`: no pads.
   */
  readonly autoPad?: "same" | "valid";
}

export interface ConvTransposeOptions extends ConvOptions {
  /** Rows added to the end of each axis, below its stride, since several sizes have one result of `conv`; default 0. */
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

function each(
  given: number | readonly number[] | undefined,
  otherwise: number,
  count: number,
): readonly number[] {
  return typeof given === "object" ? [...given] : new Array<number>(count).fill(given ?? otherwise);
}

/** The attributes with pads as given, and whether they are still to be found. */
function attributesOf(op: ConvOp, x: Tensor, options: ConvOptions): OpAttributes["Conv"] {
  const rank = Math.max(0, asTensor(x, op).shape.length - 2);
  const { autoPad } = options;
  if (autoPad !== undefined && autoPad !== "same" && autoPad !== "valid") {
    throw new MpError("MP_INVALID_ARGUMENT", `${op}: autoPad is "same" or "valid", got ${shown(autoPad)}`);
  }
  if (autoPad !== undefined && options.pads !== undefined) {
    throw new MpError("MP_INVALID_ARGUMENT", `${op}: takes pads or autoPad, got both`);
  }
  return {
    strides: each(options.strides, 1, rank),
    pads: each(options.pads, 0, 2 * rank),
    dilations: each(options.dilations, 1, rank),
    group: options.group ?? 1,
  };
}

/** What is left over goes to the end, as ONNX's SAME_UPPER and TensorFlow's SAME have it. */
function samePads(totals: readonly number[]): readonly number[] {
  const before = totals.map((total) => Math.floor(total / 2));
  return [...before, ...totals.map((total, axis) => total - (before[axis] ?? 0))];
}

const extentsOf = (w: Tensor, dilations: readonly number[]): readonly number[] =>
  dilations.map((dilation, axis) => windowExtent(w.shape[axis + 2] ?? 1, dilation));

const operandsOf = (x: Tensor, w: Tensor, { bias }: ConvOptions): readonly Tensor[] =>
  bias === undefined ? [x, w] : [x, w, bias];

/**
 * Convolves x [N, C, d…] with w [M, C / group, k…] to [N, M, o…], o = ⌊(d + pads - (k - 1) · dilation - 1) / stride⌋ + 1
 * along each axis. The kernel is not flipped.
 * @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH, MP_INVALID_ARGUMENT
 */
export function conv(x: Tensor, w: Tensor, options: ConvOptions = {}): Tensor {
  checkOptions("Conv", options, CONV, "{ strides: 2 }");
  const attributes = attributesOf("Conv", x, options);
  if (options.autoPad !== "same") return emit("Conv", operandsOf(x, w, options), attributes);
  const { strides, dilations } = attributes;
  const totals = extentsOf(asTensor(w, "Conv"), dilations).map((extent, axis) => {
    const [size, stride] = [x.shape[axis + 2] ?? 1, strides[axis] ?? 1];
    return Math.max(0, (Math.ceil(size / stride) - 1) * stride + extent - size);
  });
  return emit("Conv", operandsOf(x, w, options), { ...attributes, pads: samePads(totals) });
}

/**
 * The transposed convolution of x [N, C, d…] with w [C, M / group, k…] to [N, M, o…]: what the gradient of `conv`
 * computes, o = (d - 1) · stride + (k - 1) · dilation + 1 + outputPadding - pads.
 * @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH, MP_INVALID_ARGUMENT
 */
export function convTranspose(x: Tensor, w: Tensor, options: ConvTransposeOptions = {}): Tensor {
  checkOptions("ConvTranspose", options, { ...CONV, outputPadding: true }, "{ strides: 2 }");
  const attributes = attributesOf("ConvTranspose", x, options);
  const { strides, dilations } = attributes;
  const given = each(options.outputPadding, 0, strides.length);
  const operands = operandsOf(x, w, options);
  if (options.autoPad !== "same") {
    return emit("ConvTranspose", operands, { ...attributes, outputPadding: given });
  }
  if (options.outputPadding !== undefined) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      'ConvTranspose: takes outputPadding or autoPad "same", got both',
    );
  }
  // A kernel shorter than its stride leaves rows that nothing reaches.
  const surplus = extentsOf(asTensor(w, "ConvTranspose"), dilations).map(
    (extent, axis) => extent - (strides[axis] ?? 1),
  );
  return emit("ConvTranspose", operands, {
    ...attributes,
    pads: samePads(surplus.map((total) => Math.max(0, total))),
    outputPadding: surplus.map((total) => Math.max(0, -total)),
  });
}
