import { type HalfDType, remat, type Tensor } from "@mp/core";
import { cast, globalAveragePool, reshape } from "@mp/core/ops";
import type { StatefulLayer } from "@mp/nn";

/** The configuration of a network from images [batch, channels, height, width] to logits [batch, classes]. */
export interface ModelOptions {
  /** Channels of the images. */
  readonly channels: number;
  /** Height and width of the images. */
  readonly size: number;
  readonly classes: number;
  /** Channels of the first stage. */
  readonly width: number;
  /** Recompute the blocks' activations in the backward pass. */
  readonly checkpointing: boolean;
  /** The half dtype that the network is cast to by hand; without it, a policy casts. */
  readonly castTo?: HalfDType | undefined;
}

/** The layer, with its activations recomputed in the backward pass if `checkpointing` is on. */
export function block<L extends StatefulLayer<unknown, unknown>>(
  layer: L,
  { checkpointing }: ModelOptions,
): L {
  if (!checkpointing) return layer;
  const apply: L["apply"] = (parameters, x, context) =>
    remat((input: Tensor) => layer.apply(parameters, input, context))(x);
  return { ...layer, apply };
}

/** [batch, …] to [batch, values], for a dense layer. */
export const flatten = (x: Tensor): Tensor => reshape(x, [x.shape[0] ?? 1, -1]);

/** The mean of each channel: a large reduction, which a network cast by hand keeps in float32. */
export function meanPool(options: ModelOptions): (x: Tensor) => Tensor {
  const { castTo } = options;
  const toFloat32 = beforeMean(options);
  // The function has a name, which reports show.
  return function channelMeans(x) {
    const mean = globalAveragePool(toFloat32(x));
    return castTo === undefined ? mean : cast(mean, castTo);
  };
}

/** Casts the input of a large reduction to float32 in a network that is cast by hand, as a policy does. */
export function beforeMean({ castTo }: ModelOptions): (x: Tensor) => Tensor {
  return (x) => (castTo === undefined ? x : cast(x, "f32"));
}

/** Applies a function to the input of a layer, without a layer for the function. */
export function after<P, S>(change: (x: Tensor) => Tensor, layer: StatefulLayer<P, S>): StatefulLayer<P, S> {
  return { ...layer, apply: (parameters, x, context) => layer.apply(parameters, change(x), context) };
}
