/** A network that predicts the next character of a text (Bengio et al. 2003). */
import { foldIn, type Key, type Tensor, type Traced } from "@mp/core";
import { reshape } from "@mp/core/ops";
import { dense, embedding, normal, relu, sequential, softmaxCrossEntropy } from "@mp/nn";
import { CHARACTERS, type CharacterBatch, CONTEXT } from "./text.js";

export interface NetworkSizes {
  /** Numbers for each character. */
  readonly embedding: number;
  /** Units of each of the two hidden layers. */
  readonly hidden: number;
}

/** Parameters and loss. The embedding begins as PyTorch's does, from a normal distribution of deviation 1. */
export function characterNetwork({ embedding: width, hidden }: NetworkSizes) {
  const embed = embedding(CHARACTERS, width, { table: normal(1) });
  const predict = sequential(
    dense(CONTEXT * width, hidden),
    relu,
    dense(hidden, hidden),
    relu,
    dense(hidden, CHARACTERS),
  );
  const init = (key: Key) => ({
    embed: embed.init(foldIn(key, "embed")),
    predict: predict.init(foldIn(key, "predict")),
  });
  const loss = (parameters: Traced<Parameters>, { before, next }: Traced<CharacterBatch>): Tensor => {
    const [batch = 0] = before.shape;
    const x = reshape(embed.apply(parameters.embed, before), [batch, CONTEXT * width]);
    return softmaxCrossEntropy(predict.apply(parameters.predict, x), next);
  };
  type Parameters = ReturnType<typeof init>;
  return { init, loss };
}

export type NetworkParameters = ReturnType<ReturnType<typeof characterNetwork>["init"]>;
