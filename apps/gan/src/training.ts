import { type Run, trainerOptions } from "@mp/cli/training";
import {
  adam,
  dynamicLossScale,
  foldIn,
  type Key,
  key,
  type LossContext,
  type LossScaler,
  type Tensor,
  type Tree,
  trainer,
} from "@mp/core";
import { add, cast, mul, neg, randomUniform, reduceMean, softplus, sub } from "@mp/core/ops";
import type { Network, Options } from "./flags.js";
import type { Networks } from "./model.js";

/** Pictures [batch, channels, size, size] in -1 … 1, and the factor of each network's loss: 1, or ∞ to overflow it. */
export type Batch = { readonly x: Tensor; readonly factor: { readonly [N in Network]: Tensor } };

/** The paper's optimizer, which averages gradients over fewer steps than usual. */
const optimizer = ({ learningRate }: Options) => adam({ learningRate, beta1: 0.5 });

/** Losses of Goodfellow et al.: -log of the discriminator's probability that pictures are real, or generated. */
const ifReal = (logits: Tensor): Tensor => reduceMean(softplus(neg(cast(logits, "f32"))));
const ifMade = (logits: Tensor): Tensor => reduceMean(softplus(cast(logits, "f32")));

/** Draws noise in -1 … 1. */
const drawNoise = (stream: Key, [batch = 1]: readonly number[], count: number): Tensor =>
  sub(mul(randomUniform(foldIn(stream, "noise"), [batch, count]), 2), 1);

/**
 * A trainer of both networks. In a step the discriminator learns to tell real pictures from generated ones, then the
 * generator learns to mislead the new discriminator. Each network has its own optimizer and loss scaler, and may skip a
 * step without the other.
 */
export function ganTraining({ discriminator, generator }: Networks, run: Run<Options>) {
  const { options } = run;
  const { seed, noise } = options;
  const shared = trainerOptions(run);
  const { lossScaler } = shared.precision;
  /** Generates as many pictures as `x` has; also returns the generator's next statistics. */
  const make = ({ generator: own }: Both, x: Tensor, context: LossContext<Both>) => {
    const z = drawNoise(context.key, x.shape, noise);
    return generator.apply(own, z, { ...context, modelState: context.modelState.generator });
  };
  const judge = ({ discriminator: own }: Both, x: Tensor, context: LossContext<Both>, modelState: Trees) =>
    discriminator.apply(own, x, { ...context, modelState });
  return trainer({
    ...shared,
    params: {
      discriminator: discriminator.init(foldIn(key(seed), "discriminator")),
      generator: generator.init(foldIn(key(seed), "generator")),
    },
    modelState: { discriminator: discriminator.initState(), generator: generator.initState() },
    objectives: {
      discriminator: {
        loss: (parameters: Both, { x, factor }: Batch, context: LossContext<Both>) => {
          const { modelState } = context;
          const [made] = make(parameters, x, context);
          // Real and generated pictures get separate batch statistics, as in the paper's code.
          const [ofReal, seen] = judge(parameters, x, context, modelState.discriminator);
          const [ofMade, next] = judge(parameters, made, context, seen);
          return {
            loss: mul(add(ifReal(ofReal), ifMade(ofMade)), factor.discriminator),
            modelState: { ...modelState, discriminator: next },
          };
        },
        params: { discriminator: true },
        optimizer: optimizer(options),
        scaler: scaler(lossScaler, options.discriminatorScale),
      },
      generator: {
        loss: (parameters: Both, { x, factor }: Batch, context: LossContext<Both>) => {
          const { modelState } = context;
          const [made, next] = make(parameters, x, context);
          const [logits] = judge(parameters, made, context, modelState.discriminator);
          return {
            loss: mul(ifReal(logits), factor.generator),
            modelState: { ...modelState, generator: next },
          };
        },
        params: { generator: true },
        optimizer: optimizer(options),
        scaler: scaler(lossScaler, options.generatorScale),
      },
    },
  });
}

type Trees = Tree<Tensor>;
/** Weights, or statistics, of both networks. */
type Both = { readonly [N in Network]: Trees };

/** The precision's scaler, or a dynamic one with another initial scale. */
const scaler = (natural: LossScaler, initialScale: number | undefined): LossScaler =>
  initialScale === undefined ? natural : dynamicLossScale({ initialScale });
