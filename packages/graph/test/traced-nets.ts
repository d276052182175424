/** Small forward graphs that casting is tested on. */
import type { Graph, ValueType } from "../src/graph/graph.js";
import type { Shape } from "../src/shape.js";
import { add, div, mul, sub } from "../src/trace/ops/binary.js";
import { gather } from "../src/trace/ops/indexing.js";
import { softmaxCrossEntropyLoss } from "../src/trace/ops/loss.js";
import { matMul } from "../src/trace/ops/matrix.js";
import { concat, reshape, split, transpose } from "../src/trace/ops/movement.js";
import { layerNormalization, softmax } from "../src/trace/ops/normalization.js";
import { reduceMax, reduceSum } from "../src/trace/ops/reduce.js";
import { exp, gelu, relu, sigmoid, tanh } from "../src/trace/ops/unary.js";
import type { Tensor } from "../src/trace/tensor.js";
import { scope, traceInto } from "../src/trace/trace.js";

type Types<K extends string> = { readonly [N in K]: Shape | ValueType };

/** Traces `body` over named tensors; a shape alone is f32. */
export function graphOf<P extends string, B extends string>(
  parameters: Types<P>,
  batch: Types<B>,
  body: (tensors: { readonly [N in P | B]: Tensor }) => unknown,
): Graph {
  const declare = (role: "parameter" | "batch", types: Types<string>) =>
    Object.entries(types).map(([name, type]) => ({
      name,
      role,
      type: "dtype" in type ? type : { dtype: "f32" as const, shape: type },
    }));
  const inputs = [...declare("parameter", parameters), ...declare("batch", batch)];
  return traceInto(inputs, (tensors) => {
    const named = Object.fromEntries(inputs.map(({ name }, index) => [name, tensors[index]]));
    return body(named as { [N in P | B]: Tensor });
  }).graph;
}

export const labels = (...shape: number[]): ValueType => ({ dtype: "i32", shape });

export const mlp = (): Graph =>
  graphOf({ w0: [4, 8], b0: [8], w1: [8, 3], b1: [3] }, { x: [2, 4], y: labels(2) }, (t) => {
    const hidden = scope("hidden", () => gelu(add(matMul(t.x, t.w0), t.b0)));
    const scores = scope("out", () => add(matMul(hidden, t.w1), t.b1));
    return softmaxCrossEntropyLoss(scores, t.y);
  });

/** Two steps of a cell whose state comes in as f32, with the gates cut out of one product. */
export const lstm = (): Graph =>
  graphOf({ w: [6, 8], b: [8] }, { x: [2, 2, 4], h: [2, 2], c: [2, 2] }, (t) => {
    let [h, c] = [t.h, t.c];
    for (const x of split(t.x, 2)) {
      const gates = add(matMul(concat([reshape(x, [2, 4]), h], 1), t.w), t.b);
      const [i, f, g, o] = split(gates, 4, 1) as [Tensor, Tensor, Tensor, Tensor];
      c = add(mul(sigmoid(f), c), mul(sigmoid(i), tanh(g)));
      h = mul(sigmoid(o), tanh(c));
    }
    return { h, c };
  });

/** A pre-norm attention block over embeddings, with its residual stream. */
export const attention = (): Graph =>
  graphOf(
    { table: [7, 4], scale: [4], bias: [4], q: [4, 4], k: [4, 4], v: [4, 4], o: [4, 4] },
    { ids: labels(3) },
    (t) => {
      const x = gather(t.table, t.ids);
      const y = layerNormalization(x, t.scale, t.bias);
      const scores = mul(matMul(matMul(y, t.q), transpose(matMul(y, t.k))), 0.5);
      return add(x, matMul(matMul(softmax(scores), matMul(y, t.v)), t.o));
    },
  );

/** Softmax and cross entropy by hand: every step a danger in f16. */
export const handLoss = (): Graph =>
  graphOf({ w: [4, 3] }, { x: [2, 4], target: [2, 3] }, (t) => {
    const scores = matMul(relu(t.x), t.w);
    const shifted = exp(sub(scores, reduceMax(scores, { axes: [1], keepdims: true })));
    const p = div(shifted, reduceSum(shifted, { axes: [1], keepdims: true }));
    return { p, error: reduceSum(mul(gelu(p), t.target)) };
  });
