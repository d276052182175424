/** The networks of a DCGAN (Radford et al., arXiv 1511.06434), for small pictures: two strides instead of four. */
import { remat, type Tensor } from "@mp/core";
import { leakyRelu, relu, reshape, tanh } from "@mp/core/ops";
import {
  asModel,
  batchNorm,
  convolution,
  dense,
  type Model,
  normal,
  sequential,
  transposedConvolution,
} from "@mp/nn";
import type { Network } from "./flags.js";

export interface NetworkOptions {
  /** Channels of the pictures. */
  readonly channels: number;
  /** Height and width of the pictures, a multiple of 4. */
  readonly size: number;
  /** Channels of the discriminator's first layer. */
  readonly width: number;
  /** Number of random values that a picture is made from. */
  readonly noise: number;
  /** Recompute activations in the backward pass. */
  readonly checkpointing: boolean;
}

export type Networks = { readonly [N in Network]: Model };

/** The paper's initial kernels. */
const kernel = normal(0.02);
const strided = { stride: 2, padding: "same", kernel } as const;
const leaky = (x: Tensor): Tensor => leakyRelu(x, 0.2);

/** The discriminator takes pictures to logits [batch, 1], the generator noise [batch, noise] to pictures in -1 … 1. */
export function networks(options: NetworkOptions): Networks {
  const { channels, size, width, noise, checkpointing } = options;
  const side = size / 4;
  const flatten = (x: Tensor): Tensor => reshape(x, [x.shape[0] ?? 1, 2 * width * side * side]);
  const unflatten = (x: Tensor): Tensor => reshape(x, [x.shape[0] ?? 1, 2 * width, side, side]);
  const made = {
    discriminator: asModel(
      sequential(
        convolution(channels, width, 4, strided),
        leaky,
        convolution(width, 2 * width, 4, { ...strided, bias: false }),
        batchNorm(2 * width),
        leaky,
        flatten,
        dense(2 * width * side * side, 1, { kernel }),
      ),
    ),
    generator: asModel(
      sequential(
        dense(noise, 2 * width * side * side, { kernel }),
        unflatten,
        batchNorm(2 * width),
        relu,
        transposedConvolution(2 * width, width, 4, { ...strided, bias: false }),
        batchNorm(width),
        relu,
        transposedConvolution(width, channels, 4, strided),
        tanh,
      ),
    ),
  };
  return checkpointing
    ? { discriminator: recompute(made.discriminator), generator: recompute(made.generator) }
    : made;
}

/** Recomputes the network's activations in the backward pass. */
function recompute(model: Model): Model {
  const apply: Model["apply"] = (parameters, x, context) =>
    remat((input: Tensor) => model.apply(parameters, input, context))(x);
  return { ...model, apply };
}
