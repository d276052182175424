// Convolutions. Kernels keep the layout of the file, channels last; the graph transposes them.
import type { Tensor } from "@mp/graph";
import { add, conv, convTranspose, pad, reshape, transpose } from "@mp/graph/ops";
import { readActivation } from "../activations-table.js";
import { type Call, firstInput, type LayerKind, type WeightNames } from "../plan.js";
import type { Settings } from "../settings.js";
import { channelsFirst, readDataFormat } from "./channels.js";

interface Window {
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly autoPad: "same" | "valid";
}

/** A convolution with channels first; the kernel has the layer's own layout. */
interface Convolution {
  readonly weights: WeightNames;
  readonly axes: number;
  compute(x: Tensor, call: Call, window: Window): Tensor;
}

function convolutionPlan(settings: Settings, { weights, axes, compute }: Convolution): ReturnType<LayerKind> {
  const usesBias = settings.flag("use_bias", true);
  const activation = readActivation(settings, "activation", "linear");
  const format = readDataFormat(settings);
  const padding = settings.text("padding", "valid", "same", "causal");
  const strides = settings.numbers("strides", axes, 1);
  const dilations = settings.numbers("dilation_rate", axes, 1);
  const taps = settings.numbers("kernel_size", axes);
  if (padding === "causal" && axes !== 1) settings.refuse("causal padding needs one axis");
  const window: Window = { strides, dilations, autoPad: padding === "same" ? "same" : "valid" };
  const before = padding === "causal" ? ((taps[0] ?? 1) - 1) * (dilations[0] ?? 1) : 0;
  return {
    weights: { ...weights, ...(usesBias ? { bias: ["bias"] } : {}) },
    run: (call) =>
      activation(
        channelsFirst(firstInput(call), format, (x) => {
          const margins = x.shape.map((_, axis) => [axis === 2 ? before : 0, 0] as const);
          const y = compute(before === 0 ? x : pad(x, margins), call, window);
          if (!usesBias) return y;
          return add(y, reshape(call.weight("bias"), [y.shape[1] ?? 1, ...y.shape.slice(2).map(() => 1)]));
        }),
      ),
  };
}

/** Transposes a kernel [k…, inputs, outputs] to [outputs, inputs, k…]. */
function outputsFirst(kernel: Tensor): Tensor {
  const rank = kernel.shape.length;
  const taps = Array.from({ length: rank - 2 }, (_, axis) => axis);
  return transpose(kernel, [rank - 1, rank - 2, ...taps]);
}

/** Convolves each channel with kernels [k…, inputs, multiplier], one group [multiplier, 1, k…] per channel. */
function depthwise(x: Tensor, kernel: Tensor, window: Window): Tensor {
  const rank = kernel.shape.length;
  const taps = kernel.shape.slice(0, -2);
  const [inputs = 1, times = 1] = kernel.shape.slice(-2);
  const turned = transpose(kernel, [rank - 2, rank - 1, ...taps.map((_, axis) => axis)]);
  return conv(x, reshape(turned, [inputs * times, 1, ...taps]), { ...window, group: inputs });
}

const convolution =
  (axes: number): LayerKind =>
  (settings) => {
    const group = settings.number("groups", 1);
    return convolutionPlan(settings, {
      axes,
      weights: { kernel: ["kernel"] },
      compute: (x, call, window) => conv(x, outputsFirst(call.weight("kernel")), { ...window, group }),
    });
  };

const depthwiseConvolution =
  (axes: number): LayerKind =>
  (settings) =>
    convolutionPlan(settings, {
      axes,
      weights: { depthwise_kernel: ["depthwise_kernel", "kernel"] },
      compute: (x, call, window) => depthwise(x, call.weight("depthwise_kernel"), window),
    });

const separableConvolution =
  (axes: number): LayerKind =>
  (settings) =>
    convolutionPlan(settings, {
      axes,
      weights: { depthwise_kernel: ["depthwise_kernel"], pointwise_kernel: ["pointwise_kernel"] },
      compute: (x, call, window) =>
        conv(
          depthwise(x, call.weight("depthwise_kernel"), window),
          outputsFirst(call.weight("pointwise_kernel")),
        ),
    });

/** Transposed convolution, kernel [k…, outputs, inputs]; "valid" gives size · stride + max(0, k - stride). */
function convolveTransposed(x: Tensor, kernel: Tensor, { strides, autoPad }: Window): Tensor {
  const taps = kernel.shape.slice(0, -2);
  const total = taps.map((count, axis) =>
    autoPad === "same" ? Math.max(0, count - (strides[axis] ?? 1)) : 0,
  );
  const begins = total.map((count) => Math.floor(count / 2));
  return convTranspose(x, outputsFirst(kernel), {
    strides,
    pads: [...begins, ...total.map((count, axis) => count - (begins[axis] ?? 0))],
    outputPadding: taps.map((count, axis) => Math.max(0, (strides[axis] ?? 1) - count)),
  });
}

const convolutionTranspose =
  (axes: number): LayerKind =>
  (settings) => {
    settings.expect("output_padding");
    if (settings.numbers("dilation_rate", axes, 1).some((rate) => rate !== 1))
      settings.refuse("dilation_rate is not read");
    return convolutionPlan(settings, {
      axes,
      weights: { kernel: ["kernel"] },
      compute: (x, call, window) => convolveTransposed(x, call.weight("kernel"), window),
    });
  };

export const CONVOLUTION_LAYERS: Readonly<Record<string, LayerKind>> = {
  Conv1D: convolution(1),
  Conv2D: convolution(2),
  Conv3D: convolution(3),
  DepthwiseConv1D: depthwiseConvolution(1),
  DepthwiseConv2D: depthwiseConvolution(2),
  SeparableConv1D: separableConvolution(1),
  SeparableConv2D: separableConvolution(2),
  Conv1DTranspose: convolutionTranspose(1),
  Conv2DTranspose: convolutionTranspose(2),
  Conv3DTranspose: convolutionTranspose(3),
};
