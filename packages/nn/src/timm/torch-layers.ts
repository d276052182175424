/** Layers with PyTorch's names and layouts of parameters and statistics, and its initial values. */
import type { Tensor } from "@mp/core";
import { add, matMul, transpose } from "@mp/core/ops";
import { batchNorm } from "../batch-norm.js";
import { convolution } from "../convolution.js";
import { constantValue, type Initializer, uniform } from "../initializers.js";
import { layerNorm } from "../layer-norm.js";
import { type ParameterSpec, type Part, spec, stateless } from "./part.js";

/** PyTorch's default for weights and biases: uniform in ±1 / √fanIn. */
export const torchUniform: Initializer = (key, shape, fanIn, fanOut) =>
  uniform(1 / Math.sqrt(fanIn))(key, shape, fanIn, fanOut);

interface Starts {
  readonly weight: Initializer;
  /** Default zeros; false for no bias. */
  readonly bias?: Initializer | false;
}

type Weights = { readonly weight: ParameterSpec; readonly bias?: ParameterSpec };

/** `nn.Linear`: the weight is [outputs, inputs]. */
export const linear = (inputs: number, outputs: number, starts: Starts): Part =>
  stateless(weights([outputs, inputs], starts, inputs, outputs), (own, x) => {
    const product = matMul(x, transpose(own.weight, [1, 0]));
    return own.bias === undefined ? product : add(product, own.bias);
  });

function weights(
  shape: readonly [outputs: number, ...rest: number[]],
  { weight, bias = constantValue(0) }: Starts,
  fanIn: number,
  fanOut: number,
): Weights {
  const own = spec(shape, weight, fanIn, fanOut);
  return bias === false ? { weight: own } : { weight: own, bias: spec([shape[0]], bias, fanIn, fanOut) };
}

/** `nn.Conv2d` with a square kernel. */
export function conv2d(
  inputs: number,
  outputs: number,
  size: number,
  { stride, padding = 0, ...starts }: Starts & { readonly stride: number; readonly padding?: number },
): Part {
  const { apply } = convolution(inputs, outputs, size, { stride, padding });
  const area = size * size;
  return stateless(
    weights([outputs, inputs, size, size], starts, inputs * area, outputs * area),
    ({ weight: kernel, ...bias }, x) => apply({ kernel, ...bias } as { kernel: Tensor; bias: Tensor }, x),
  );
}

/** The scale and shift of a normalization; scales begin with `start`. */
const scales = (size: number, start: number) => ({
  weight: spec([size], constantValue(start)),
  bias: spec([size], constantValue(0)),
});

/** `nn.LayerNorm` over the last axis. */
export function layerNorm1d(size: number, epsilon: number): Part {
  const { apply } = layerNorm(size, { epsilon });
  return stateless(scales(size, 1), ({ weight: scale, bias }, x) => apply({ scale, bias }, x));
}

/** `nn.BatchNorm2d`, whose scales begin with `start`. */
export function batchNorm2d(channels: number, start: number): Part {
  const { apply } = batchNorm(channels);
  return {
    parameters: scales(channels, start),
    statistics: {
      running_mean: spec([channels], constantValue(0)),
      running_var: spec([channels], constantValue(1)),
    },
    apply: (own, x, context) => {
      const { weight: scale, bias } = own as Readonly<Record<"weight" | "bias", Tensor>>;
      const { running_mean: mean, running_var: variance } = context.modelState as Readonly<
        Record<"running_mean" | "running_var", Tensor>
      >;
      const [y, next] = apply({ scale, bias }, x, { ...context, modelState: { mean, variance } });
      return [y, { running_mean: next.mean, running_var: next.variance }];
    },
  };
}
