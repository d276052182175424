/** A small classifier whose training is compared between backends: dropout and all, so that randomness counts too. */
import { adamW, float32, mixedFloat16, type Trainer, trainer } from "@mp/core";
import { type Backend, type HostTensor, key, type Tensor, tensor } from "@mp/graph";
import { relu } from "@mp/graph/ops";
import {
  type DenseParameters,
  dense,
  dropout,
  type Layer,
  type Nothing,
  type Sequential,
  sequential,
  softmaxCrossEntropy,
} from "@mp/nn";

export type PrecisionName = "float32" | "mixed_float16";

export interface Trained {
  readonly losses: readonly number[];
  /** After everything has been disposed of but the backend. */
  readonly left: { readonly live: number; readonly bytes: number };
}

interface Batch {
  readonly x: HostTensor;
  readonly y: HostTensor;
}

type Model = Sequential<[Layer<DenseParameters>, typeof relu, Layer<Nothing>, Layer<DenseParameters>]>;
type Params = ReturnType<Model["init"]>;
type ModelState = Readonly<Record<never, never>>;

export const model: Model = sequential(dense(2, 32), relu, dropout(0.1), dense(32, 2));

export type Classifier = Trainer<Params, Readonly<Record<keyof Batch, Tensor>>, ModelState>;

const PRECISIONS = { float32, mixed_float16: mixedFloat16 };

/** The classifier with its first weights. */
export const classifier = (backend: Backend, precision: PrecisionName): Promise<Classifier> =>
  trainer({
    backend,
    params: model.init(key(42)),
    loss: (params, { x, y }, context) => softmaxCrossEntropy(model.apply(params, x, context), y),
    optimizer: adamW({ learningRate: 1e-2 }),
    precision: PRECISIONS[precision](),
    onWarning: () => undefined,
  });

export function batchOf(step: number): Batch {
  const points = Array.from(
    { length: 64 },
    (_, i) => [Math.sin(7919 * (64 * step + i)), Math.cos(104729 * i)] as const,
  );
  return {
    x: tensor(Float32Array.from(points.flat()), [64, 2]),
    y: tensor(Int32Array.from(points, ([a, b]) => Number(a * b > 0))),
  };
}

/** The losses of these steps. */
export async function stepsOf(training: Classifier, from: number, to: number): Promise<readonly number[]> {
  const losses: number[] = [];
  for (let step = from; step < to; step++) losses.push((await training.step(batchOf(step))).loss);
  return losses;
}

/** Trains for some steps, and disposes of the backend. */
export async function train(backend: Backend, precision: PrecisionName, steps = 40): Promise<Trained> {
  const training = await classifier(backend, precision);
  const losses = await stepsOf(training, 0, steps);
  await training.dispose();
  const left = backend.stats();
  await backend.dispose();
  return { losses, left };
}
