/** Trainings that float32 can make, and ways to make them fail. */
import {
  adam,
  adamW,
  dynamicLossScale,
  type HostTensor,
  key,
  type LossScaler,
  mixedFloat16,
  momentum,
  type Optimizer,
  ops,
  type Precision,
  type Remedy,
  scope,
  sgd,
  type Tensor,
  tensor,
  zeros,
} from "@mp/core";
import {
  convolution,
  dense,
  encoderLayer,
  gru,
  layerNorm,
  meanSquaredError,
  relu,
  sequential,
  softmaxCrossEntropy,
  tanh,
} from "../../src/index.js";
export type Random = () => number;
export type Batch = { readonly x: HostTensor<"f32">; readonly y: HostTensor<"f32"> | HostTensor<"i32"> };
export type Parameters = never;
export type Forward = (weights: Parameters, x: Tensor, context: never) => Tensor;

/** A training that float32 can make. */
export interface Task {
  readonly name: string;
  readonly params: unknown;
  readonly batch: Batch;
  readonly forward: Forward;
  readonly loss: (y: Tensor, labels: Tensor) => Tensor;
  readonly optimizer: (rate: number) => Optimizer;
  readonly rate: number;
  /** Whether the size of the loss does not change the steps. */
  readonly isAdaptive: boolean;
}

/** What diagnose must call it, and whether its remedies must cure it. */
export interface Fault {
  readonly name: string;
  readonly causes: readonly string[];
  readonly isCured: boolean;
  readonly make: (task: Task, random: Random) => Faulty;
}

export interface Faulty extends Partial<Pick<Task, "params" | "batch" | "forward" | "loss" | "optimizer">> {
  readonly precision: Precision;
  readonly checkNewParameters?: boolean;
}

export interface Outcome {
  readonly what: string;
  readonly cause: string | undefined;
  readonly remedy: string | undefined;
  readonly remedies: readonly Remedy[];
  /** Why it does not count as right; undefined if it does. */
  readonly wrong: string | undefined;
  readonly isCurable: boolean;
}

export const pick = <T>(random: Random, from: readonly T[]): T =>
  from[Math.floor(random() * from.length)] as T;
/** A power of two between the bounds' exponents. */
export const power = (random: Random, from: number, to: number): number =>
  2 ** Math.round(from + random() * (to - from));

const numbers = (random: Random, shape: readonly number[], size = 1): HostTensor<"f32"> =>
  tensor(
    Float32Array.from(
      { length: shape.reduce((a, b) => a * b, 1) },
      () => size * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()),
    ),
    shape,
  );

const optimizers: Readonly<Record<string, readonly [(rate: number) => Optimizer, number, boolean]>> = {
  adam: [(learningRate) => adam({ learningRate }), 2e-3, true],
  adamW: [(learningRate) => adamW({ learningRate }), 2e-3, true],
  sgd: [(learningRate) => sgd({ learningRate }), 5e-2, false],
  momentum: [(learningRate) => momentum({ learningRate }), 1e-2, false],
};

const NO_CONTEXT = undefined as never;
export type Shaped = readonly [model: unknown, shape: readonly number[], isTokens?: boolean];
const models: Readonly<Record<string, () => Shaped>> = {
  relu: () => [sequential(dense(8, 24), relu, dense(24, 24), relu, dense(24, 3)), [16, 8]],
  tanh: () => [sequential(dense(6, 16), tanh, dense(16, 3)), [12, 6]],
  normed: () => [sequential(dense(8, 16), layerNorm(16), relu, dense(16, 3)), [16, 8]],
  convolution: () => [
    sequential(convolution(2, 4, [3]), relu, (x: Tensor) => ops.reshape(x, [8, -1]), dense(24, 3)),
    [8, 2, 8],
  ],
  gru: () => {
    const [cell, head] = [gru(4, 6), dense(6, 3)];
    const apply: Forward = (weights, x) => {
      const own = weights as { cell: never; head: never };
      const hidden = ops.constant(zeros([5, 6]));
      const y = scope("body", () => cell.apply(own.cell, { x, hidden }, NO_CONTEXT).hidden);
      return head.apply(own.head, y, NO_CONTEXT);
    };
    return [{ init: (at: never) => ({ cell: cell.init(at), head: head.init(at) }), apply }, [4, 5, 4]];
  },
  attention: () => [
    sequential(encoderLayer(8, 2) as never, (x: Tensor) => ops.reduceMean(x, { axes: [0] }), dense(8, 3)),
    [4, 6, 8],
  ],
};

export function draw(random: Random): Task {
  const name = pick(random, Object.keys(models));
  const [model, shape] = (models[name] as () => Shaped)();
  const { init, apply } = model as { init: (key: unknown) => unknown; apply: Forward };
  const optimizer = pick(random, Object.keys(optimizers));
  const [make, rate, isAdaptive] = optimizers[optimizer] as (typeof optimizers)[string];
  const rows = shape[name === "attention" || name === "gru" ? 1 : 0] as number;
  const isClassifier = random() < 0.6;
  return {
    name: `${name}, ${optimizer}, ${isClassifier ? "classes" : "numbers"}`,
    params: init(key(Math.floor(random() * 1000))),
    batch: {
      x: numbers(random, shape),
      y: isClassifier
        ? tensor(Int32Array.from({ length: rows }, () => Math.floor(random() * 3)))
        : numbers(random, [rows, 3]),
    },
    forward: apply,
    loss: isClassifier ? softmaxCrossEntropy : meanSquaredError,
    optimizer: make,
    rate,
    isAdaptive,
  };
}

export const dynamic = (options: Parameters0): Precision => ({
  ...mixedFloat16(),
  lossScaler: dynamicLossScale(options),
});
export type Parameters0 = NonNullable<globalThis.Parameters<typeof dynamicLossScale>[0]>;
export const scaled = (lossScaler: LossScaler): Precision => ({ ...mixedFloat16(), lossScaler });

/** The loss times a number, with a rate that undoes it. */
export const times = (task: Task, factor: number): Pick<Faulty, "loss" | "optimizer"> => ({
  loss: (y, labels) => ops.mul(task.loss(y, labels), factor),
  optimizer: () => task.optimizer(task.isAdaptive ? task.rate : task.rate / factor),
});

/** Multiplies within the model, and divides again after an operator that computes in a half dtype. */
export const within =
  (task: Task, factor: number, power = 1): Forward =>
  (weights, x, context) => {
    const y = task.forward(weights, x, context);
    // Two factors that the half dtype can hold: casting keeps a larger number in float32.
    const [first, second] = [Math.min(factor, 2 ** 14), Math.max(1, factor / 2 ** 14)];
    const large = ops.mul(ops.mul(y, first), second);
    const raised = power === 2 ? ops.mul(large, ops.relu(large)) : ops.relu(large);
    return ops.add(y, ops.mul(ops.cast(raised, "f32"), factor ** -power));
  };

/** Parameters with a tensor multiplied. */
export function withTensor(params: unknown, random: Random, factor: number): unknown {
  const leaves: HostTensor[] = [];
  const walk = (tree: unknown): unknown => {
    if (tree !== null && typeof tree === "object" && "dtype" in tree) {
      leaves.push(tree as HostTensor);
      return tree;
    }
    if (Array.isArray(tree)) return tree.map(walk);
    return Object.fromEntries(Object.entries(tree as object).map(([name, part]) => [name, walk(part)]));
  };
  walk(params);
  const kernels = leaves.filter(({ shape }) => shape.length > 1);
  const chosen = pick(random, kernels);
  const replace = (tree: unknown): unknown => {
    if (tree === chosen)
      return tensor(
        Float32Array.from(chosen.data as Float32Array, (w) => w * factor),
        chosen.shape,
      );
    if (tree !== null && typeof tree === "object" && "dtype" in tree) return tree;
    if (Array.isArray(tree)) return tree.map(replace);
    return Object.fromEntries(Object.entries(tree as object).map(([name, part]) => [name, replace(part)]));
  };
  return replace(params);
}

export const withData = (batch: Batch, random: Random, value: number): Batch => {
  const data = (batch.x.data as Float32Array).slice();
  data[Math.floor(random() * data.length)] = value;
  return { ...batch, x: tensor(data, batch.x.shape) };
};
