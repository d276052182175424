import { momentum, type Tensor, tensor } from "@mp/core";
import { constant, mul, transpose } from "@mp/core/ops";
import { dense, embedding, lstmState, softmaxCrossEntropy } from "@mp/nn";
import { type LstmForm, lstmOfForm } from "./basic-lstm.js";
import { tokenValues } from "./hash-values.js";
import { initialValues } from "./initial-values.js";
import { defineWorkload, type Workload } from "./workload.js";

export const WORD_MODEL_SIZES = { batch: 32, time: 35, vocabulary: 10_000, cells: 512, layers: 2 };

/**
 * W2: embedding, LSTM layers from zero state, softmax over the vocabulary. The loss is the sum over time divided by the
 * batch. Gradients are clipped to norm 5; the optimizer is SGD with momentum 0.9 at rate 0.1.
 */
export function wordModel(sizes = WORD_MODEL_SIZES, form: LstmForm = "fused"): Workload {
  const { batch, time, vocabulary, cells, layers } = sizes;
  const draw = initialValues();
  const limit = 0.05;
  const params = {
    embedding: { table: draw.uniform([vocabulary, cells], limit) },
    layers: Array.from({ length: layers }, () => ({
      input: draw.uniform([cells, 4 * cells], limit),
      recurrent: draw.uniform([cells, 4 * cells], limit),
      bias: draw.zeros([4 * cells]),
    })),
    softmax: { kernel: draw.uniform([cells, vocabulary], limit), bias: draw.zeros([vocabulary]) },
  };
  const embed = embedding(vocabulary, cells);
  const recurrent = lstmOfForm(form, cells);
  const project = dense(cells, vocabulary);
  const words = (seed: number) => tensor(tokenValues(seed, batch * time, vocabulary), [batch, time]);
  const start = lstmState(batch, cells);
  return defineWorkload({
    title: `word model, vocabulary ${vocabulary}, ${layers} LSTM layers of ${cells}, sequence ${time}, batch ${batch}`,
    params,
    batch: { inputs: words(1), targets: words(2) },
    loss: (weights, { inputs, targets }) => {
      const state = { hidden: constant(start.hidden), cell: constant(start.cell) };
      // Time first, so that each step of the recurrence is contiguous.
      const embedded: Tensor = embed.apply(weights.embedding, transpose(inputs));
      const x = weights.layers.reduce((input, own) => recurrent(own, { x: input, state }), embedded);
      return mul(softmaxCrossEntropy(project.apply(weights.softmax, x), transpose(targets)), time);
    },
    optimizer: momentum({ learningRate: 0.1, momentum: 0.9 }),
    clipNorm: 5,
    lossDivisor: time,
    matrixFlops: 3 * 2 * batch * time * (layers * 8 * cells * cells + cells * vocabulary),
  });
}
