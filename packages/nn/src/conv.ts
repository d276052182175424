import {
  add,
  type ConvOptions as CoreConvOptions,
  checkOptions,
  conv as convolve,
  convTranspose as convolveTransposed,
  fold,
  type HostTensor,
  type Key,
  MpError,
  reshape,
  scope,
  type Tensor,
} from "@mp/core";
import { checkSizes } from "./check-size.js";
import { constantValue, heNormal, type Initializer } from "./initializers.js";
import type { Layer, Parameters } from "./layer.js";

/** The kernel is [outputs, inputs / groups, k…], of a transposed convolution [inputs, outputs / groups, k…]. */
export type ConvParameters = { readonly kernel: HostTensor<"f32">; readonly bias: HostTensor<"f32"> };
export type UnbiasedConvParameters = Omit<ConvParameters, "bias">;

export interface ConvOptions {
  /** Along each axis, a number for all of them; default 1. */
  readonly stride?: number | readonly number[];
  /**
   * `same`: as large as the input, over the stride; `valid` (default): none. A number for all sides, one for each axis,
   * or all begins and then all ends.
   */
  readonly padding?: "same" | "valid" | number | readonly number[];
  /** Distance between the kernel's taps; default 1. */
  readonly dilation?: number | readonly number[];
  /** Parts that the channels are cut into, each convolved on its own; default 1. */
  readonly groups?: number;
  /** Default `heNormal`. */
  readonly kernel?: Initializer;
  /** Default zeros; false for none, as before a normalisation that has its own. */
  readonly bias?: Initializer | false;
}

export interface ConvTransposeOptions extends ConvOptions {
  /** Rows added to the end of each axis, below its stride; default 0. Not with padding `same`. */
  readonly outputPadding?: number | readonly number[];
}

type Unbiased = { readonly bias: false };
type AnyParameters = { readonly kernel: Tensor; readonly bias?: Tensor };

const OPTIONS = {
  stride: true,
  padding: true,
  dilation: true,
  groups: true,
  kernel: true,
  bias: true,
} as const;

/**
 * Convolution, channels first: [batch, inputs, d…] to [batch, outputs, o…]. A size of one number is that of a square;
 * `[3]` and `[3, 3, 3]` are kernels over one and three axes.
 * @throws MP_INVALID_ARGUMENT for sizes below 1, groups that do not divide both, or options that there are not
 */
export function conv(
  inputs: number,
  outputs: number,
  size: number | readonly number[],
  options: ConvOptions & Unbiased,
): Layer<UnbiasedConvParameters>;
export function conv(
  inputs: number,
  outputs: number,
  size: number | readonly number[],
  options?: ConvOptions,
): Layer<ConvParameters>;
export function conv(
  inputs: number,
  outputs: number,
  size: number | readonly number[],
  options: ConvOptions = {},
): Layer<ConvParameters> | Layer<UnbiasedConvParameters> {
  checkOptions("conv", options, OPTIONS, '{ padding: "same" }');
  const taps = checkConv("conv", { inputs, outputs }, size, options);
  const { groups = 1 } = options;
  const shape = [outputs, inputs / groups, ...taps];
  const area = taps.reduce((a, b) => a * b, 1);
  const fans = { in: (inputs / groups) * area, out: (outputs / groups) * area };
  return layerOf("conv", options, { shape, outputs, fans }, (x, { kernel, bias }) =>
    biased(convolve(x, kernel, geometryOf(options, taps.length)), bias),
  );
}

/**
 * Transposed convolution, channels first: [batch, inputs, d…] to [batch, outputs, o…], o = d · stride with padding
 * `same`. What `conv` with these options does to sizes, this undoes.
 * @throws as `conv`
 */
export function convTranspose(
  inputs: number,
  outputs: number,
  size: number | readonly number[],
  options: ConvTransposeOptions & Unbiased,
): Layer<UnbiasedConvParameters>;
export function convTranspose(
  inputs: number,
  outputs: number,
  size: number | readonly number[],
  options?: ConvTransposeOptions,
): Layer<ConvParameters>;
export function convTranspose(
  inputs: number,
  outputs: number,
  size: number | readonly number[],
  options: ConvTransposeOptions = {},
): Layer<ConvParameters> | Layer<UnbiasedConvParameters> {
  checkOptions("convTranspose", options, { ...OPTIONS, outputPadding: true }, '{ padding: "same" }');
  const taps = checkConv("convTranspose", { inputs, outputs }, size, options);
  const { groups = 1, stride = 1, outputPadding } = options;
  const shape = [inputs, outputs / groups, ...taps];
  const area = taps.reduce((a, b) => a * b, 1);
  const strides = typeof stride === "number" ? taps.map(() => stride) : stride;
  // Of a stride's places each sees only its share of the taps.
  const seen = area / strides.reduce((a, b) => a * b, 1);
  const fans = { in: Math.max(1, (inputs / groups) * seen), out: (outputs / groups) * area };
  return layerOf("convTranspose", options, { shape, outputs, fans }, (x, { kernel, bias }) =>
    biased(
      convolveTransposed(x, kernel, {
        ...geometryOf(options, taps.length),
        ...(outputPadding === undefined ? {} : { outputPadding }),
      }),
      bias,
    ),
  );
}

interface Plan {
  readonly shape: readonly number[];
  readonly outputs: number;
  readonly fans: { readonly in: number; readonly out: number };
}

function layerOf(
  name: string,
  { kernel = heNormal, bias = constantValue(0) }: ConvOptions,
  { shape, outputs, fans }: Plan,
  compute: (x: Tensor, parameters: AnyParameters) => Tensor,
): Layer<ConvParameters> | Layer<UnbiasedConvParameters> {
  const kernelOf = (key: Key): HostTensor<"f32"> => kernel(fold(key, "kernel"), shape, fans.in, fans.out);
  const apply = (parameters: AnyParameters, x: Tensor): Tensor => scope(name, () => compute(x, parameters));
  if (bias === false) return { name, init: (key) => ({ kernel: kernelOf(key) }), apply };
  return {
    name,
    init: (key) => ({
      kernel: kernelOf(key),
      bias: bias(fold(key, "bias"), [outputs], fans.in, fans.out),
    }),
    apply: (parameters: Parameters<ConvParameters>, x: Tensor) => apply(parameters, x),
  };
}

/**
 * One number a channel, in an addition of its own as in `dense`: an engine that multiplies halves natively rounds the
 * convolution before it adds, and one that has to add first convolves in f32.
 */
function biased(y: Tensor, bias: Tensor | undefined): Tensor {
  if (bias === undefined) return y;
  return add(y, reshape(bias, [y.shape[1] ?? 1, ...y.shape.slice(2).map(() => 1)]));
}

/** The options as core's functions take them. */
function geometryOf(
  { stride = 1, padding = "valid", dilation = 1, groups = 1 }: ConvOptions,
  rank: number,
): CoreConvOptions {
  const perAxis = typeof padding === "object" && padding.length === rank;
  return {
    strides: stride,
    dilations: dilation,
    group: groups,
    ...(typeof padding === "string"
      ? { autoPad: padding }
      : { pads: perAxis ? [...(padding as readonly number[]), ...(padding as readonly number[])] : padding }),
  };
}

/** The kernel's size along each axis. */
function checkConv(
  layer: string,
  channels: { readonly inputs: number; readonly outputs: number },
  size: number | readonly number[],
  { groups = 1 }: ConvOptions,
): readonly number[] {
  const taps = typeof size === "object" ? size : [size, size];
  checkSizes(layer, { ...channels, groups });
  if (!Array.isArray(taps) || taps.length < 1 || taps.length > 3) {
    throw new MpError("MP_INVALID_ARGUMENT", `${layer}: a kernel has 1 to 3 axes, got [${taps}]`);
  }
  for (const tap of taps) checkSizes(layer, { "the kernel's size": tap });
  for (const [name, count] of Object.entries(channels)) {
    if (count % groups === 0) continue;
    throw new MpError("MP_INVALID_ARGUMENT", `${layer}: ${groups} groups do not divide ${count} ${name}`);
  }
  return taps;
}
