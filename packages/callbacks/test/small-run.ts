/** A run that takes milliseconds: one layer with dropout, on the oracle. */
import {
  float32,
  type HostTensor,
  type LossContext,
  ops,
  type Tensor,
  type Traced,
  type Trainer,
  tensor,
  trainer,
} from "@mp/core";
import { settable, sgd } from "@mp/core/optim";
import { reference } from "@mp/core/reference";

const wave = (shape: readonly number[], frequency: number): HostTensor<"f32"> =>
  tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin(frequency * (i + 1))),
    shape,
  );

type Data = { readonly x: HostTensor<"f32">; readonly y: HostTensor<"f32"> };

/** The batch of an index, always the same. */
const batch = (index: number): Data => ({
  x: wave([4, 3], 0.37 + index),
  y: wave([4, 1], 0.91 + index),
});
export const batches = (count: number, from = 0): Data[] =>
  Array.from({ length: count }, (_, index) => batch(from + index));

interface Params {
  readonly w: HostTensor<"f32">;
}
type Batch = { readonly x: Tensor; readonly y: Tensor };
export type SmallTrainer = Trainer<Params, Batch, Readonly<Record<never, never>>, "error">;

function loss({ w }: Traced<Params>, { x, y }: Batch, { key, training }: LossContext<unknown>) {
  const kept = training ? ops.mul(x, ops.cast(ops.randomBernoulli(key, 0.5, x.shape), "f32")) : x;
  const difference = ops.sub(ops.matMul(kept, w), y);
  return {
    loss: ops.reduceMean(ops.mul(difference, difference)),
    metrics: { error: ops.reduceMean(ops.abs(difference)) },
  };
}

export async function smallRun({
  learningRate = 0.5,
  isSettable = true,
}: {
  readonly learningRate?: number;
  readonly isSettable?: boolean;
} = {}): Promise<SmallTrainer> {
  return trainer({
    backend: await reference(),
    params: { w: wave([3, 1], 1.3) },
    loss,
    optimizer: sgd({ learningRate: isSettable ? settable(learningRate) : learningRate }),
    precision: float32(),
    onWarning: () => undefined,
  });
}
