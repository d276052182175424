/** A run small enough for every combination of options: two layers with dropout, and a running mean as model state. */
import { type HostTensor, scope, type Tensor, tensor } from "@mp/graph";
import { add, matMul, mul, randomBernoulli, reduceMean, relu, sub, where } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { momentum } from "../src/optim/sgd.js";
import { float32 } from "../src/precision/presets.js";
import type { LossContext, LossParts, Traced } from "../src/train/definition/loss.js";
import type { TrainerOptions } from "../src/train/options.js";
import type { Trainer } from "../src/train/run/trainer-interface.js";
import { trainer } from "../src/train/trainer.js";

export const wave = (shape: readonly number[], step: number): HostTensor<"f32"> => {
  const size = shape.reduce((product, dimension) => product * dimension, 1);
  return tensor(
    Float32Array.from({ length: size }, (_, i) => Math.sin(step * (i + 1))),
    shape,
  );
};

export const params = (): SmallParams => ({
  hidden: { w: wave([3, 4], 0.7), b: wave([4], 0.1) },
  out: wave([4, 1], 1.3),
});
export interface SmallParams {
  readonly hidden: { readonly w: HostTensor<"f32">; readonly b: HostTensor<"f32"> };
  readonly out: HostTensor<"f32">;
}
export type SmallBatch = { readonly x: Tensor; readonly y: Tensor };
export type SmallState = { readonly mean: HostTensor<"f32">; readonly seen: HostTensor<"i32"> };
export type SmallTrainer = Trainer<SmallParams, SmallBatch, SmallState, "error">;
export type SmallOptions = TrainerOptions<SmallParams, SmallBatch, SmallState, "error">;

/** A batch of that many rows; equal for equal steps. */
export const batch = (
  step: number,
  rows = 4,
): { readonly x: HostTensor<"f32">; readonly y: HostTensor<"f32"> } => ({
  x: wave([rows, 3], 0.37 + step),
  y: wave([rows, 1], 0.91 + step),
});

export const loss = (
  { hidden, out }: Traced<SmallParams>,
  { x, y }: SmallBatch,
  { key, training, modelState }: LossContext<Traced<SmallState>>,
): LossParts<Traced<SmallState>, "error"> => {
  const inner = scope("hidden", () => relu(add(matMul(x, hidden.w), hidden.b)));
  const kept = training ? where(randomBernoulli(key, 0.75, inner.shape), mul(inner, 4 / 3), 0) : inner;
  const difference = sub(matMul(kept, out), y);
  const mean = training ? add(mul(modelState.mean, 0.9), mul(reduceMean(inner), 0.1)) : modelState.mean;
  return {
    loss: reduceMean(mul(difference, difference)),
    metrics: { error: reduceMean(difference) },
    modelState: { mean, seen: add(modelState.seen, 1) },
  };
};

/** Starts it on the oracle. Warnings are silent unless asked for. */
export async function smallRun(options: Partial<SmallOptions> = {}): Promise<SmallTrainer> {
  return trainer({
    backend: await reference(),
    params: params(),
    loss,
    modelState: { mean: tensor(Float32Array.of(0), []), seen: tensor(Int32Array.of(0), []) },
    optimizer: momentum({ learningRate: 0.05 }),
    precision: float32(),
    onWarning: () => undefined,
    ...options,
  });
}

/** Everything a run can tell of its state. */
export async function stateOf(training: SmallTrainer): Promise<unknown> {
  return {
    parameters: await training.parameters(),
    modelState: await training.modelState(),
    counters: await training.counters(),
  };
}

/** After two steps. */
export async function trained(options: Partial<SmallOptions> = {}): Promise<SmallTrainer> {
  const training = await smallRun(options);
  await training.step(batch(0));
  await training.step(batch(1));
  return training;
}
