import { type HostTensor, ones, scope, type Tensor, zeros } from "@mp/core";
import { elementCount } from "@mp/core/graph";
import { add, batchNormalization, mul, normalizeByStatistics, transpose } from "@mp/core/ops";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { invalid, mismatch } from "./errors.js";
import type { Parameters } from "./layer.js";
import { checkSizes, epsilon as epsilonKind } from "./option-kinds.js";
import type { StatefulContext, StatefulLayer } from "./stateful-layer.js";

export type BatchNormParameters = { readonly scale: HostTensor<"f32">; readonly bias: HostTensor<"f32"> };

/** Running mean and variance, [channels] each. */
export type BatchNormState = { readonly mean: HostTensor<"f32">; readonly variance: HostTensor<"f32"> };

export interface BatchNormOptions {
  /**
   * Fraction of the running statistics that each step keeps, as in Keras and Flax; PyTorch's momentum is 1
   * minus this. Default 0.9.
   */
  readonly momentum?: number;
  /** Added to the variance; default 1e-5. */
  readonly epsilon?: number;
  /** The axis of the channels; default 1. */
  readonly axis?: number;
}

const BATCH_NORM = {
  momentum: withDefault(0.9, checks.share),
  epsilon: withDefault(1e-5, epsilonKind),
  axis: withDefault(1, checks.claim("an integer", Number.isInteger)),
};

/**
 * Batch normalization (Ioffe and Szegedy, arXiv 1502.03167): normalizes over all axes but the channels, by
 * the batch's statistics in training and by running statistics otherwise. Statistics are f32 under any
 * policy; the running variance is unbiased, as in PyTorch. The running statistics are model state: `apply`
 * returns `[y, newState]`, and a skipped step leaves them unchanged.
 * @throws MP_INVALID_ARGUMENT for a size below 1, a momentum outside 0 … 1 or an epsilon below 0
 */
export function batchNorm(
  channels: number,
  options: BatchNormOptions = {},
): StatefulLayer<BatchNormParameters, BatchNormState> {
  checkSizes("batchNorm", { channels });
  const read = readOptions("batchNorm", options, BATCH_NORM, { example: "{ momentum: 0.99 }" });
  const { momentum, epsilon, axis } = read;
  return {
    name: "batchNorm",
    init: () => ({ scale: ones([channels]), bias: zeros([channels]) }),
    initState: () => ({ mean: zeros([channels]), variance: ones([channels]) }),
    apply: (parameters, x, context) =>
      scope("batchNorm", () => {
        const toSecond = secondAxis(x, axis, channels);
        const turned = toSecond === undefined ? x : transpose(x, toSecond.there);
        const [y, state] = normalize(turned, parameters, context, { momentum, epsilon });
        return [toSecond === undefined ? y : transpose(y, toSecond.back), state] as const;
      }),
  };
}

/**
 * Permutations that move the channels to the second axis and back; undefined if they are the second axis.
 * @throws MP_SHAPE_MISMATCH
 */
function secondAxis(
  x: Tensor,
  axis: number,
  channels: number,
): { readonly there: readonly number[]; readonly back: readonly number[] } | undefined {
  const rank = x.shape.length;
  const place = axis < 0 ? axis + rank : axis;
  if (rank < 2 || place === 0 || x.shape[place] !== channels) {
    throw mismatch(
      `batchNorm: takes ${channels} channels in axis ${axis} behind a batch axis, got [${x.shape.join(", ")}]`,
    );
  }
  if (place === 1) return undefined;
  const others = x.shape.map((_, at) => at).filter((at) => at !== 0 && at !== place);
  const there = [0, place, ...others];
  return { there, back: there.map((_, at) => there.indexOf(at)) };
}

function normalize(
  x: Tensor,
  { scale, bias }: Parameters<BatchNormParameters>,
  context: StatefulContext<BatchNormState> | undefined,
  { momentum, epsilon }: { readonly momentum: number; readonly epsilon: number },
): readonly [Tensor, Parameters<BatchNormState>] {
  const state = context?.modelState;
  if (context === undefined || state?.mean === undefined || state.variance === undefined) {
    throw invalid(
      "batchNorm: needs the context with its own state: layer.apply(params, x, { ...context, modelState: its part }), which initState began and the trainer was given",
    );
  }
  if (!context.training) return [normalizeByStatistics(x, scale, bias, state, { epsilon }), state];
  const count = elementCount(x.shape, "batchNorm") / (x.shape[1] ?? 1);
  if (count < 2) {
    throw mismatch(
      `batchNorm: one value a channel has no variance to train by, got [${x.shape.join(", ")}]; take a larger batch`,
    );
  }
  const { y, mean, variance } = batchNormalization(x, scale, bias, { epsilon });
  const follow = (running: Tensor, now: Tensor, share: number): Tensor =>
    add(mul(running, momentum), mul(now, (1 - momentum) * share));
  const unbiased = count / (count - 1);
  return [y, { mean: follow(state.mean, mean, 1), variance: follow(state.variance, variance, unbiased) }];
}
