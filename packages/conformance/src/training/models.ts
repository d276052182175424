/** Small models of common kinds, for runs that are compared with the oracle's. Weights and data come from a seed. */

import type { LossFunction } from "@mp/core";
import { elementCount, foldIn, type HostTensor, remat, type Shape, type Tensor, tensor } from "@mp/graph";
import {
  add,
  gather,
  gelu,
  layerNormalization,
  matMul,
  mul,
  randomBernoulli,
  relu,
  sigmoid,
  softmaxCrossEntropyLoss,
  split,
  squeeze,
  tanh,
  where,
} from "@mp/graph/ops";
import { anew, fresh } from "../fresh.js";
import { randomSource } from "../random-source.js";

const source = randomSource(2026, "models");

export function draw(shape: Shape, size: number): HostTensor<"f32"> {
  const count = elementCount(shape, "test data");
  return tensor(
    Float32Array.from({ length: count }, () => source.between(-size, size)),
    shape,
  );
}

export function integers(shape: Shape, below: number): HostTensor<"i32"> {
  const count = elementCount(shape, "test data");
  return tensor(
    Int32Array.from({ length: count }, () => source.integer(0, below - 1)),
    shape,
  );
}

/** A model with its parameters, its state and a sequence of batches. */
export interface Model<P, B, M> {
  /** Returns new parameters at each call, since a backend may write to its arguments. */
  readonly params: () => P;
  readonly modelState: () => M;
  readonly loss: LossFunction<P, B, M>;
  readonly batch: (step: number) => Readonly<Record<string, HostTensor>>;
}

const BATCHES = 4;

export function cycle<B>(make: () => B): (step: number) => B {
  const batches = Array.from({ length: BATCHES }, make);
  return (step) => fresh(batches[step % BATCHES] as B);
}

type Layer = { readonly weight: HostTensor<"f32">; readonly bias: HostTensor<"f32"> };
type TracedLayer = { readonly weight: Tensor; readonly bias: Tensor };

const layer = (inputs: number, outputs: number): Layer => ({
  weight: draw([inputs, outputs], 1 / Math.sqrt(inputs)),
  bias: draw([outputs], 0.1),
});
const dense = ({ weight, bias }: TracedLayer, x: Tensor): Tensor => add(matMul(x, weight), bias);

type Labelled = { readonly x: Tensor; readonly y: Tensor };
type Nothing = Readonly<Record<never, never>>;

/** Two layers with dropout between them, and cross entropy. */
export const perceptron: Model<{ readonly first: Layer; readonly second: Layer }, Labelled, Nothing> = {
  params: anew({ first: layer(6, 16), second: layer(16, 4) }),
  modelState: anew({}),
  loss: ({ first, second }, { x, y }, { key, training }) => {
    const hidden = relu(dense(first, x));
    const mask = randomBernoulli(foldIn(key, "dropout"), 0.75, hidden.shape);
    return softmaxCrossEntropyLoss(dense(second, training ? where(mask, mul(hidden, 4 / 3), 0) : hidden), y);
  },
  batch: cycle(() => ({ x: draw([8, 6], 2), y: integers([8], 4) })),
};

const HIDDEN = 6;
type Carried = { readonly h: HostTensor<"f32">; readonly c: HostTensor<"f32"> };

/** An LSTM unrolled over four steps. Its state is carried from batch to batch. */
export const recurrent: Model<
  { readonly input: Layer; readonly hidden: Layer; readonly output: Layer },
  Labelled,
  Carried
> = {
  params: anew({ input: layer(5, 4 * HIDDEN), hidden: layer(HIDDEN, 4 * HIDDEN), output: layer(HIDDEN, 3) }),
  modelState: anew({
    h: tensor(new Float32Array(3 * HIDDEN), [3, HIDDEN]),
    c: tensor(new Float32Array(3 * HIDDEN), [3, HIDDEN]),
  }),
  loss: ({ input, hidden, output }, { x, y }, { modelState }) => {
    let { h, c }: { h: Tensor; c: Tensor } = modelState;
    for (const step of split(x, 4, 0)) {
      const gates = add(dense(input, squeeze(step, [0])), dense(hidden, h));
      const [i, f, g, o] = split(gates, 4, 1) as [Tensor, Tensor, Tensor, Tensor];
      c = add(mul(sigmoid(f), c), mul(sigmoid(i), tanh(g)));
      h = mul(sigmoid(o), tanh(c));
    }
    return { loss: softmaxCrossEntropyLoss(dense(output, h), y), modelState: { h, c } };
  },
  batch: cycle(() => ({ x: draw([4, 3, 5], 1), y: integers([3], 3) })),
};

type Tokens = { readonly ids: Tensor; readonly labels: Tensor };
type Normal = { readonly scale: HostTensor<"f32">; readonly bias: HostTensor<"f32"> };

/** A model with an embedding, layer normalization, a recomputed residual block, and some ignored labels. */
export const textModel: Model<
  {
    readonly embedding: HostTensor<"f32">;
    readonly norm: Normal;
    readonly up: Layer;
    readonly down: Layer;
    readonly head: Layer;
  },
  Tokens,
  Nothing
> = {
  params: anew({
    embedding: draw([11, 8], 1),
    norm: { scale: tensor(new Float32Array(8).fill(1)), bias: draw([8], 0.1) },
    up: layer(8, 16),
    down: layer(16, 8),
    head: layer(8, 11),
  }),
  modelState: anew({}),
  loss: ({ embedding, norm, up, down, head }, { ids, labels }, { key, training }) => {
    const x = gather(embedding, ids);
    const block = remat((input: Tensor) => {
      const inner = dense(down, gelu(dense(up, layerNormalization(input, norm.scale, norm.bias))));
      const mask = randomBernoulli(foldIn(key, "block"), 0.75, inner.shape);
      return add(input, training ? where(mask, mul(inner, 4 / 3), 0) : inner);
    });
    return softmaxCrossEntropyLoss(dense(head, block(x)), labels, { ignoreIndex: 0 });
  },
  batch: cycle(() => ({ ids: integers([12], 11), labels: integers([12], 11) })),
};
