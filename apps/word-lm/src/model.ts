/**
 * The word language model of Baidu's evaluation (Zaremba et al., arXiv 1409.2329): embedding, layers of basic
 * LSTM cells with dropout between them, softmax over the vocabulary, truncated back-propagation with carried state.
 */
import {
  foldIn,
  type HostTensor,
  type Key,
  type LossContext,
  type LossParts,
  remat,
  scope,
  type Tensor,
  type Traced,
} from "@mp/core";
import { transpose, where } from "@mp/core/ops";
import {
  dense,
  dropout,
  embedding,
  type LstmParameters,
  type LstmState,
  lstm,
  lstmState,
  softmaxCrossEntropy,
  uniform,
} from "@mp/nn";

export interface WordModelOptions {
  readonly vocabulary: number;
  readonly layers: number;
  readonly cells: number;
  /** Applied to the inputs of each LSTM layer and of the softmax. */
  readonly dropout: number;
  /** Recompute each layer's activations in the backward pass. */
  readonly checkpointing: boolean;
  /** Half the width of the interval of the uniform initial weights. */
  readonly initialScale: number;
}

export type WordBatch = { readonly inputs: Tensor; readonly targets: Tensor; readonly reset: Tensor };
export type CarriedState = readonly LstmState<HostTensor<"f32">>[];

/** Parameters and loss of one configuration. */
export function wordModel(options: WordModelOptions) {
  const { vocabulary, layers, cells } = options;
  const kernel = uniform(options.initialScale);
  const embed = embedding(vocabulary, cells, { table: kernel });
  const stack = Array.from({ length: layers }, () => lstm(cells, cells, { kernel, unroll: true }));
  const project = dense(cells, vocabulary, { kernel });
  const drop = dropout(options.dropout);

  const init = (key: Key) => ({
    embedding: embed.init(foldIn(key, "embedding")),
    layers: stack.map((layer, index) => layer.init(foldIn(key, index))),
    softmax: project.init(foldIn(key, "softmax")),
  });
  type ModelParameters = ReturnType<typeof init>;

  /** Mean cross entropy per word; the state starts from zero in the rows that `reset` marks. */
  const loss = (
    parameters: Traced<ModelParameters>,
    { inputs, targets, reset }: WordBatch,
    context: LossContext<readonly LstmState[]>,
  ): LossParts<readonly LstmState[]> => {
    // Time first, so that each step of the recurrence is contiguous.
    let x = embed.apply(parameters.embedding, transpose(inputs));
    const states: LstmState[] = [];
    for (const [index, layer] of stack.entries()) {
      const carried = context.modelState[index] as LstmState;
      scope(`layer${index}`, () => {
        const state = { hidden: where(reset, 0, carried.hidden), cell: where(reset, 0, carried.cell) };
        const run = (input: Tensor, from: LstmState) =>
          layer.apply(parameters.layers[index] as Traced<LstmParameters>, {
            x: drop.apply({}, input, context),
            state: from,
          });
        const result = (options.checkpointing ? remat(run) : run)(x, state);
        x = result.y;
        states.push(result.state);
      });
    }
    const logits = scope("softmax", () => project.apply(parameters.softmax, drop.apply({}, x, context)));
    return { loss: softmaxCrossEntropy(logits, transpose(targets)), modelState: states };
  };

  return {
    init,
    loss,
    /** The initial state. */
    carried: (batch: number): CarriedState => stack.map(() => lstmState(batch, cells)),
    parameterCount: 2 * vocabulary * cells + vocabulary + layers * (8 * cells * cells + 4 * cells),
    /** Multiply-adds of the matrix products, twice each: forward, and backward with respect to inputs and weights. */
    flopsPerStep: (words: number) => 3 * 2 * words * (layers * 8 * cells * cells + cells * vocabulary),
  };
}
