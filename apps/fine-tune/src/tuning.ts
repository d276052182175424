/** Opens a model, its texts and its training as the flags say. */
import type { AppContext } from "@mp/cli";
import { trainerOptions } from "@mp/cli/training";
import { adamW, type Backend, key, type Tensor, type Trainer, trainer } from "@mp/core";
import { type Dataset, mapDataset } from "@mp/data";
import { type CausalBatch, type CausalExample, causalBatches, shuffleDataset } from "@mp/data/rows";
import { type CausalLm, type CausalLmInput, loadCausalLm } from "@mp/language-models";
import { checkFits, loadTokenizer, type Tokenizer } from "@mp/language-models/tokenizer";
import { lossWeight, type Nothing, softmaxCrossEntropy } from "@mp/nn";
import { type Lora, lora, type NamedParameters } from "@mp/nn/adapters";
import type { Options } from "./flags.js";
import type { Source } from "./source.js";
import { readExamples } from "./texts.js";

/** The base and its adapters; no adapters if all weights are trained. */
export type Weights = { readonly base: NamedParameters; readonly adapters: NamedParameters };
type Batch = Pick<CausalBatch, "ids" | "targets" | "positions" | "mask">;

export interface Tuning extends AsyncDisposable {
  readonly training: Trainer<Weights, { readonly [K in keyof Batch]: Tensor }, Nothing, never>;
  readonly model: CausalLm;
  readonly adapted: Lora<CausalLmInput> | undefined;
  readonly batches: Dataset<Batch>;
  readonly heldOut: Dataset<Batch>;
  readonly heldOutExamples: Dataset<CausalExample>;
  readonly tokenizer: Tokenizer;
}

const IGNORED = -100;
/** Number of examples in the buffer that texts are drawn from. */
const SHUFFLED = 1000;

export async function openTuning(
  options: Options,
  source: Source,
  { backend, signal }: Pick<AppContext, "signal"> & { readonly backend: Backend },
): Promise<Tuning> {
  const { batch, length, seed } = options;
  const tokenizer = await loadTokenizer(source.folder);
  const { model, params: base } = await loadCausalLm(source.folder, {
    base: options.base,
    remat: options.checkpointing ? "blocks" : "none",
  });
  checkFits(tokenizer, model.sizes.vocabulary);
  const makeBatches = (examples: Dataset<CausalExample>): Dataset<Batch> =>
    mapDataset(causalBatches(examples, { batch, length }), ({ segments: _, ...rest }) => rest);
  const examples = await readExamples(source.train, tokenizer, length);
  const heldOutExamples = await readExamples(source.heldOut, tokenizer, length);
  const adapted = options.loraRank === 0 ? undefined : lora(model, adapters(options));
  const training = await trainer({
    ...trainerOptions({ options, backend, context: { signal } }),
    params: { base, adapters: adapted?.init(key(seed)) ?? {} } as Weights,
    frozen: adapted === undefined ? {} : { base: true },
    loss: (weights, { targets, ...input }: { readonly [K in keyof Batch]: Tensor }, context) => {
      const logits =
        adapted === undefined
          ? model.apply(weights.base, input, context)
          : adapted.apply(weights.adapters, weights.base, input, context);
      const loss = softmaxCrossEntropy(logits, targets, { ignoreIndex: IGNORED });
      return { loss, weight: lossWeight(loss) };
    },
    optimizer: adamW({ learningRate: options.learningRate, states: options.states }),
  });
  return {
    training,
    model,
    adapted,
    batches: makeBatches(shuffleDataset(examples, { buffer: SHUFFLED, seed })),
    heldOut: makeBatches(heldOutExamples),
    heldOutExamples,
    tokenizer,
    [Symbol.asyncDispose]: () => training.dispose(),
  };
}

const adapters = ({ loraRank, loraAlpha, dropout, targets }: Options) => ({
  rank: loraRank,
  alpha: loraAlpha,
  dropout,
  targets: targets === undefined ? ("all-linear" as const) : targets.split(","),
});
