// Converts the tensors of PyTorch's layers to the parameters of this package's layers. A kind of layer is
// recognized by the leaves of its tree, never by a path.
import type { Shape } from "@mp/core";
import type { FloatArray, Source } from "./source.js";

/** A rule that makes a leaf from tensors of the file. `from` has their names, relative to the layer's path. */
export interface LayoutRule {
  readonly from: readonly string[];
  /** Makes the leaf from one tensor, or from two; undefined if the two have different shapes. */
  make(first: Source, second: Source): FloatArray | undefined;
}

/** Shapes of the leaves below a node of a tree, by path relative to the node. */
export type Leaves = ReadonlyMap<string, Shape>;

interface LayoutKind {
  isOne(leaves: Leaves): boolean;
  readonly leaves: Readonly<Record<string, readonly LayoutRule[]>>;
}

const asIs = (source: FloatArray): FloatArray => source;
const plain = (...names: readonly string[]): readonly LayoutRule[] =>
  names.map((name) => ({ from: [name], make: asIs }));

function transpose({ shape, data }: FloatArray): FloatArray {
  const [rows, columns] = shape;
  if (shape.length !== 2 || rows === undefined || columns === undefined) return { shape, data };
  const turned = new Float32Array(data.length);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      turned[column * rows + row] = data[row * columns + column] as number;
  return { shape: [columns, rows], data: turned };
}

/** Returns a matrix as [inputs, outputs]. */
const asKernel = (source: Source): FloatArray => (source.inputsFirst ? source : transpose(source));
const kernel = (...names: readonly string[]): readonly LayoutRule[] =>
  names.map((name) => ({ from: [name], make: asKernel }));

/** Takes parts `from` to `to` - 1 of a tensor whose first axis is split into `count` equal parts. */
function rows({ shape, data }: FloatArray, count: number, from: number, to: number): FloatArray {
  const [size = 0, ...rest] = shape;
  if (size % count !== 0) return { shape, data };
  const part = data.length / count;
  return { shape: [(size / count) * (to - from), ...rest], data: data.slice(from * part, to * part) };
}

/** Takes query, key or value out of a stacked projection with PyTorch's name, or from a renamed `c_attn`. */
const inProj = (part: number): readonly LayoutRule[] =>
  ["in_proj_weight", "in_proj/weight"].map((name) => ({
    from: [name],
    make: (source) => transpose(rows(source.inputsFirst ? transpose(source) : source, 3, part, part + 1)),
  }));
const inProjBias = (part: number): readonly LayoutRule[] =>
  ["in_proj_bias", "in_proj/bias"].map((name) => ({
    from: [name],
    make: (source) => rows(source, 3, part, part + 1),
  }));

function sum(a: FloatArray, b: FloatArray): FloatArray | undefined {
  if (a.shape.join() !== b.shape.join()) return undefined;
  return { shape: a.shape, data: a.data.map((value, at) => value + (b.data[at] as number)) };
}

/** The `bias` of a GRU from PyTorch's two biases; the candidate's second bias is `recurrentBias` instead. */
function gruBias(input: FloatArray, recurrent: FloatArray): FloatArray | undefined {
  if (input.shape.join() !== recurrent.shape.join()) return undefined;
  const gates = (input.data.length / 3) * 2;
  return {
    shape: input.shape,
    data: input.data.map((value, at) => (at < gates ? value + (recurrent.data[at] as number) : value)),
  };
}

/** Names of parameters in an `LSTM` or `GRU` with one layer, and in an `LSTMCell` or `GRUCell`. */
const recurrentNames = (...names: readonly string[]): readonly (readonly string[])[] => [
  names.map((name) => `${name}_l0`),
  names,
];
const recurrent = (names: readonly string[], make: LayoutRule["make"]): readonly LayoutRule[] =>
  recurrentNames(...names).map((from) => ({ from, make }));
const gates = {
  input: recurrent(["weight_ih"], transpose),
  recurrent: recurrent(["weight_hh"], transpose),
};

const has = (leaves: Leaves, ...paths: readonly string[]): boolean => paths.every((path) => leaves.has(path));

export const LAYOUTS: Readonly<Record<string, LayoutKind>> = {
  dense: {
    isOne: (leaves) => leaves.get("kernel")?.length === 2,
    leaves: { kernel: kernel("weight"), bias: plain("bias") },
  },
  // PyTorch, too, has [outputs, inputs / groups, k…], and [inputs, outputs / groups, k…] if transposed.
  convolution: {
    isOne: (leaves) => (leaves.get("kernel")?.length ?? 0) > 2,
    leaves: { kernel: plain("weight"), bias: plain("bias") },
  },
  embedding: { isOne: (leaves) => has(leaves, "table"), leaves: { table: plain("weight") } },
  normalization: {
    isOne: (leaves) => has(leaves, "scale"),
    leaves: { scale: plain("weight", "gamma"), bias: plain("bias", "beta") },
  },
  statistics: {
    isOne: (leaves) => has(leaves, "mean", "variance"),
    leaves: { mean: plain("running_mean", "moving_mean"), variance: plain("running_var", "moving_variance") },
  },
  // Gates in the order input, forget, cell, output on both sides.
  lstm: {
    isOne: (leaves) => has(leaves, "input", "recurrent", "bias") && !has(leaves, "recurrentBias"),
    leaves: { ...gates, bias: recurrent(["bias_ih", "bias_hh"], sum) },
  },
  // Gates in the order reset, update, candidate on both sides.
  gru: {
    isOne: (leaves) => has(leaves, "input", "recurrent", "bias", "recurrentBias"),
    leaves: {
      ...gates,
      bias: recurrent(["bias_ih", "bias_hh"], gruBias),
      recurrentBias: recurrent(["bias_hh"], (source: Source) => rows(source, 3, 2, 3)),
    },
  },
  attention: {
    isOne: (leaves) => has(leaves, "query/kernel", "key/kernel", "value/kernel", "output/kernel"),
    leaves: {
      "query/kernel": inProj(0),
      "key/kernel": inProj(1),
      "value/kernel": inProj(2),
      "query/bias": inProjBias(0),
      "key/bias": inProjBias(1),
      "value/bias": inProjBias(2),
      "output/kernel": kernel("out_proj/weight"),
      "output/bias": plain("out_proj/bias"),
    },
  },
};
