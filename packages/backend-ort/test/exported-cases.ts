/** Models that are exported for inference, and their files. */

import { ops } from "@mp/core";
import { type HostTensor, key, type Shape, type Tensor, type Tree, tensor, zeros } from "@mp/graph";
import { encodeModel, exportOnnx } from "@mp/onnx";

export type Weights = Readonly<Record<string, HostTensor<"f32">>>;
export type Traced = Readonly<Record<string, Tensor>>;
type Context = { readonly training: boolean; readonly modelState: unknown };

export interface Case {
  readonly params: Weights;
  readonly state?: Weights;
  /** Shape of the input x by its dynamic sizes. */
  readonly shape: (batch: number, time: number) => Shape;
  readonly axes: Readonly<Record<number, string>>;
  /** Not exported in f16 for a CPU. */
  readonly isLoop?: boolean;
  readonly run: (params: Traced, x: Tensor, context: Context) => Tensor;
}

export const numbers = (seed: number, shape: Shape): HostTensor<"f32"> => {
  const length = shape.reduce((product, size) => product * size, 1);
  return tensor(
    Float32Array.from({ length }, (_, at) => 0.4 * Math.sin(37 * seed + 12.9898 * (at + 1))),
    shape,
  );
};
export const at = (tree: Traced, name: string): Tensor => tree[name] as Tensor;

export const cases: Readonly<Record<string, Case>> = {
  "layers with running statistics and a dropout": {
    params: { scale: numbers(1, [4]), bias: numbers(2, [4]), kernel: numbers(3, [4, 3]) },
    state: { mean: numbers(4, [4]), variance: tensor(Float32Array.of(1, 0.5, 2, 0.25)) },
    shape: (batch) => [batch, 4],
    axes: { 0: "batch" },
    run: (params, x, { training, modelState }) => {
      const statistics = modelState as { mean: Tensor; variance: Tensor };
      const y = ops.normalizeByStatistics(x, at(params, "scale"), at(params, "bias"), statistics);
      const kept = training ? ops.where(ops.randomBernoulli(key(1), 0.5, y.shape), y, 0) : y;
      return ops.softmax(ops.matMul(ops.relu(kept), at(params, "kernel")));
    },
  },
  "heads of attention over batch and time": {
    params: { qkv: numbers(1, [6, 18]), out: numbers(2, [6, 6]), scale: numbers(3, [6]) },
    shape: (batch, time) => [batch, time, 6],
    axes: { 0: "batch", 1: "time" },
    run: (params, x) => {
      const [batch = 0, time = 0] = x.shape;
      const rows = ops.matMul(ops.reshape(x, [batch * time, 6]), at(params, "qkv"));
      const heads = ops
        .split(rows, 3, 1)
        .map((each) => ops.transpose(ops.reshape(each, [batch, time, 2, 3]), [0, 2, 1, 3]));
      const [query, keys, values] = heads as [Tensor, Tensor, Tensor];
      const weights = ops.softmax(ops.matMul(query, ops.transpose(keys, [0, 1, 3, 2])));
      const mixed = ops.transpose(ops.matMul(weights, values), [0, 2, 1, 3]);
      const y = ops.matMul(ops.reshape(mixed, [batch, time, 6]), at(params, "out"));
      return ops.layerNormalization(ops.add(x, y), at(params, "scale"));
    },
  },
  "operators that are new since opset 18, and a table that counts": {
    params: { scale: numbers(1, [4]) },
    shape: (batch, time) => [batch, time, 4],
    axes: { 0: "batch", 1: "time" },
    run: (params, x) => {
      const [batch = 0, time = 0] = x.shape;
      const places = Int32Array.from(
        { length: batch * time },
        (_, index) => Math.floor(index / time) - 2 * (index % time),
      );
      const table = ops.mul(ops.cast(ops.constant(tensor(places, [batch, time, 1])), "f32"), 0.01);
      const heads = ops.reshape(ops.gelu(ops.add(x, table)), [batch, 1, time, 4]);
      const mixed = ops.attention(heads, heads, heads, { isCausal: true });
      return ops.rmsNormalization(ops.gelu(mixed, { approximate: "tanh" }), at(params, "scale"));
    },
  },
  "a loop from zeros of the batch's size": {
    params: { kernel: numbers(1, [5, 3]) },
    shape: (batch, time) => [time, batch, 2],
    axes: { 0: "time", 1: "batch" },
    isLoop: true,
    run: (params, x) => {
      const start = ops.constant(zeros([x.shape[1] as number, 3]));
      const [last] = ops.scan(
        (state: Tensor, step: Tensor) => {
          const next = ops.tanh(ops.matMul(ops.concat([step, state], 1), at(params, "kernel")));
          return [next, next];
        },
        start,
        x,
      );
      return last;
    },
  },
};

export function exported(one: Case, dtype: "f32" | "f16" | "bf16", opset = 23): Uint8Array {
  const layer = {
    initState: () => one.state ?? {},
    apply: (params: Traced, x: Tensor, context: Context) => [one.run(params, x, context), {}],
  };
  const inputs = { x: { shape: one.shape(1, 1) } };
  const weights: { readonly params: Tree<HostTensor>; readonly state: Tree<HostTensor> } = {
    params: one.params,
    state: one.state ?? {},
  };
  return encodeModel(exportOnnx(layer, weights, { inputs, dynamicAxes: { x: one.axes }, dtype, opset }));
}

/** Besides 23, the default. */
export const OPSETS = [18, 19, 20, 21, 22] as const;
