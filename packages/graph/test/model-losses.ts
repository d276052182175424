// Two small models for tests of whole training graphs.
import type { Shape } from "../src/shape.js";
import { add, mul } from "../src/trace/ops/binary.js";
import { gather } from "../src/trace/ops/indexing.js";
import { softmaxCrossEntropyLoss } from "../src/trace/ops/loss.js";
import { matMul } from "../src/trace/ops/matrix.js";
import { slice, split, squeeze, transpose } from "../src/trace/ops/movement.js";
import { layerNormalization, softmax } from "../src/trace/ops/normalization.js";
import { cast, gelu, sigmoid, tanh } from "../src/trace/ops/unary.js";
import { key, randomBernoulli } from "../src/trace/random/random.js";
import type { Tensor } from "../src/trace/tensor.js";
import { indices } from "./finite-differences.js";

/** Table, weight, bias and output weight of either model. */
export const modelShapes: readonly Shape[] = [[6, 4], [4, 16], [16], [4, 6]];

/** A small model's loss as a function of its weights, of `modelShapes`. */
export type Loss = (w: readonly Tensor[]) => Tensor;

/** [batch 2, time 5] tokens through an LSTM of width 4: gates by slices, one weight for input and state. */
export const lstm: Loss = ([table, weight, bias, out]) => {
  const tokens = indices([0, 1, 2, 3, 4, 5, 0, 2, 4, 1], [2, 5]);
  const embedded = gather(table as Tensor, tokens);
  let hidden: Tensor | undefined;
  let cell: Tensor | undefined;
  for (const step of split(embedded, 5, 1)) {
    const x = squeeze(step, [1]);
    const gates = add(matMul(hidden === undefined ? x : add(x, hidden), weight as Tensor), bias as Tensor);
    const gate = (index: number): Tensor => slice(gates, [{ axis: 1, start: 4 * index, end: 4 * index + 4 }]);
    const input = mul(sigmoid(gate(0)), tanh(gate(1)));
    cell = cell === undefined ? input : add(mul(sigmoid(gate(2)), cell), input);
    hidden = mul(sigmoid(gate(3)), tanh(cell));
  }
  return softmaxCrossEntropyLoss(cast(matMul(hidden as Tensor, out as Tensor), "f32"), indices([1, 5]));
};

/** One attention block over [1, 6, 4] with dropout. */
export const attention: Loss = ([table, weight, bias, out]) => {
  const x = gather(table as Tensor, indices([0, 1, 2, 3, 4, 5], [1, 6]));
  const scale = slice(bias as Tensor, [{ axis: 0, end: 4 }]);
  const [q, k, v, g] = split(matMul(layerNormalization(x, scale), weight as Tensor), 4, 2);
  const mask = cast(randomBernoulli(key(3), 0.8, [1, 6, 6]), x.dtype);
  const weights = mul(softmax(mul(matMul(q as Tensor, transpose(k as Tensor, [0, 2, 1])), 0.5)), mask);
  const y = matMul(mul(matMul(weights, v as Tensor), gelu(g as Tensor)), out as Tensor);
  return softmaxCrossEntropyLoss(cast(squeeze(y, [0]), "f32"), indices([5, 4, 3, 2, 1, 0]));
};
