import { foldIn, type HostTensor, type Key, scope, type Tensor } from "@mp/core";
import { add, type ConvOptions, conv, convTranspose, reshape } from "@mp/core/ops";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { invalid } from "./errors.js";
import { constantValue, heNormal, type Initializer } from "./initializers.js";
import type { Layer, Parameters } from "./layer.js";
import { checkSizes, initializer, integers } from "./option-kinds.js";
import { coreWindow, type WindowOptions, windowTable } from "./window-options.js";

/** The kernel is [outputs, inputs / groups, k…], or [inputs, outputs / groups, k…] for a transposed convolution. */
export type ConvolutionParameters = { readonly kernel: HostTensor<"f32">; readonly bias: HostTensor<"f32"> };
export type UnbiasedConvolutionParameters = Omit<ConvolutionParameters, "bias">;

/** Options of convolutions; the stride is 1 by default. */
export interface ConvolutionOptions extends WindowOptions {
  /** Number of channel groups, each convolved separately; default 1. */
  readonly groups?: number;
  /** Initializer of the kernel; default `heNormal`. */
  readonly kernel?: Initializer;
  /** Initializer of the bias, default zeros; false for no bias, for example before a normalization. */
  readonly bias?: Initializer | false;
}

export interface TransposedConvolutionOptions extends ConvolutionOptions {
  /** Elements added at the end of each axis, fewer than the stride; default 0. Not allowed with padding `same`. */
  readonly outputPadding?: number | readonly number[];
}

type Unbiased = { readonly bias: false };
type AnyParameters = { readonly kernel: Tensor; readonly bias?: Tensor };

const CONV = {
  groups: withDefault(1, integers(1)),
  kernel: withDefault(heNormal, initializer),
  bias: withDefault(constantValue(0), (what, bias) => {
    if (bias !== false) initializer(what, bias);
  }),
};
const EXAMPLE = { example: '{ padding: "same" }' };

/**
 * A convolution with channels first: [batch, inputs, d…] to [batch, outputs, o…]. A `size` of one number
 * makes square kernels; `[3]` and `[3, 3, 3]` make kernels with one and three spatial axes.
 * @throws MP_INVALID_ARGUMENT for sizes below 1, groups that do not divide inputs and outputs, or unknown options
 */
export function convolution(
  inputs: number,
  outputs: number,
  size: number | readonly number[],
  options: ConvolutionOptions & Unbiased,
): Layer<UnbiasedConvolutionParameters>;
export function convolution(
  inputs: number,
  outputs: number,
  size: number | readonly number[],
  options?: ConvolutionOptions,
): Layer<ConvolutionParameters>;
export function convolution(
  inputs: number,
  outputs: number,
  size: number | readonly number[],
  options: ConvolutionOptions = {},
): Layer<ConvolutionParameters> | Layer<UnbiasedConvolutionParameters> {
  const taps = readTaps("convolution", { inputs, outputs }, size);
  const read = readOptions("convolution", options, { ...windowTable([taps.length]), ...CONV }, EXAMPLE);
  const { groups } = read;
  checkGroups("convolution", { inputs, outputs }, groups);
  const shape = [outputs, inputs / groups, ...taps];
  const area = taps.reduce((a, b) => a * b, 1);
  const fans = { in: (inputs / groups) * area, out: (outputs / groups) * area };
  return convolutionLayer("conv", read, { shape, outputs, fans }, (x, { kernel, bias }) =>
    addBias(conv(x, kernel, coreOptions(options)), bias),
  );
}

/**
 * A transposed convolution with channels first: [batch, inputs, d…] to [batch, outputs, o…], where o = d · stride
 * with padding `same`. It reverses the size change of `convolution` with the same options.
 * @throws as `convolution`
 */
export function transposedConvolution(
  inputs: number,
  outputs: number,
  size: number | readonly number[],
  options: TransposedConvolutionOptions & Unbiased,
): Layer<UnbiasedConvolutionParameters>;
export function transposedConvolution(
  inputs: number,
  outputs: number,
  size: number | readonly number[],
  options?: TransposedConvolutionOptions,
): Layer<ConvolutionParameters>;
export function transposedConvolution(
  inputs: number,
  outputs: number,
  size: number | readonly number[],
  options: TransposedConvolutionOptions = {},
): Layer<ConvolutionParameters> | Layer<UnbiasedConvolutionParameters> {
  const taps = readTaps("transposedConvolution", { inputs, outputs }, size);
  const axes = taps.length;
  const outputPaddings = checks.optional(integers(0, axes));
  const table = { ...windowTable([axes]), ...CONV, outputPadding: outputPaddings };
  const read = readOptions("transposedConvolution", options, table, EXAMPLE);
  const { groups, stride = 1, outputPadding } = read;
  checkGroups("transposedConvolution", { inputs, outputs }, groups);
  const shape = [inputs, outputs / groups, ...taps];
  const area = taps.reduce((a, b) => a * b, 1);
  const strides = typeof stride === "number" ? taps.map(() => stride) : stride;
  const surplus = outputPadding === undefined ? {} : { outputPadding };
  // Each output position gets only 1 / stride of the taps.
  const seen = area / strides.reduce((a, b) => a * b, 1);
  const fans = { in: Math.max(1, (inputs / groups) * seen), out: (outputs / groups) * area };
  return convolutionLayer("convTranspose", read, { shape, outputs, fans }, (x, { kernel, bias }) =>
    addBias(convTranspose(x, kernel, { ...coreOptions(options), ...surplus }), bias),
  );
}

interface Plan {
  readonly shape: readonly number[];
  readonly outputs: number;
  readonly fans: { readonly in: number; readonly out: number };
}

function convolutionLayer(
  name: string,
  { kernel, bias }: Required<Pick<ConvolutionOptions, "kernel" | "bias">>,
  { shape, outputs, fans }: Plan,
  compute: (x: Tensor, parameters: AnyParameters) => Tensor,
): Layer<ConvolutionParameters> | Layer<UnbiasedConvolutionParameters> {
  const initKernel = (key: Key): HostTensor<"f32"> => kernel(foldIn(key, "kernel"), shape, fans.in, fans.out);
  const apply = (parameters: AnyParameters, x: Tensor): Tensor => scope(name, () => compute(x, parameters));
  if (bias === false) return { name, init: (key) => ({ kernel: initKernel(key) }), apply };
  return {
    name,
    init: (key) => ({
      kernel: initKernel(key),
      bias: bias(foldIn(key, "bias"), [outputs], fans.in, fans.out),
    }),
    apply: (parameters: Parameters<ConvolutionParameters>, x: Tensor) => apply(parameters, x),
  };
}

/**
 * Adds the bias of each channel by an operator of its own, as in `dense`. With native arithmetic in a half dtype, the
 * engine has rounded the convolution before; an engine that must add before rounding convolves in f32.
 */
function addBias(y: Tensor, bias: Tensor | undefined): Tensor {
  if (bias === undefined) return y;
  return add(y, reshape(bias, [y.shape[1] ?? 1, ...y.shape.slice(2).map(() => 1)]));
}

const coreOptions = (options: ConvolutionOptions): ConvOptions => ({
  ...coreWindow(options, 1),
  group: options.groups ?? 1,
});

/** The kernel size along each axis. @throws MP_INVALID_ARGUMENT for sizes below 1 */
function readTaps(
  layer: string,
  channels: Readonly<Record<string, number>>,
  size: number | readonly number[],
): readonly number[] {
  checkSizes(layer, channels);
  integers(1, 1, 2, 3)(`${layer}: the kernel's size`, size);
  return typeof size === "number" ? [size, size] : size;
}

function checkGroups(layer: string, channels: Readonly<Record<string, number>>, groups: number): void {
  for (const [name, count] of Object.entries(channels)) {
    if (count % groups === 0) continue;
    throw invalid(`${layer}: ${groups} groups do not divide ${count} ${name}`);
  }
}
