import type { AppContext, RunResult } from "@mp/cli";
import {
  firstBatch,
  fitByFlags,
  onBackend,
  precisionOf,
  resultOf,
  withHalfReductions,
} from "@mp/cli/training";
import { adam, cosineDecay, key, type Tensor, type Traced, trainer } from "@mp/core";
import { graphCost } from "@mp/core/graph";
import { argMax } from "@mp/core/ops";
import { arrayDataset } from "@mp/data";
import { ctcLoss } from "@mp/nn";
import { decode, ErrorRate } from "./decode.js";
import type { Options } from "./flags.js";
import { outputLength, recognizer } from "./model.js";
import type { Speech } from "./speech/load-speech.js";

type Batch = {
  readonly features: Tensor;
  readonly frames: Tensor;
  readonly labels: Tensor;
  readonly lengths: Tensor;
};

/** One training run from its first step to its character error rate on test utterances. */
export function runSpeech(
  options: Options,
  label: string,
  speech: Speech,
  context: AppContext,
): Promise<RunResult> {
  return onBackend(options, async (backend) => {
    const { seed, batch, mels, cells, layers, channels, checkpointing } = options;
    const given = precisionOf(options, backend.manifest);
    const model = recognizer({
      mels,
      channels,
      cells,
      layers,
      classes: speech.letters.length + 1,
      checkpointing,
    });
    const batches = arrayDataset(speech.train, {
      batch,
      epochs: Number.POSITIVE_INFINITY,
      shuffle: { seed },
    });
    type Parameters = Traced<ReturnType<typeof model.init>>;
    await using training = await trainer({
      backend,
      params: model.init(key(seed)),
      loss: (parameters: Parameters, { features, frames, labels, lengths }: Batch) =>
        ctcLoss(
          model.apply(parameters, features),
          { labels, labelLengths: lengths, inputLengths: outputLength(frames) },
          { zeroInfinity: true },
        ),
      optimizer: adam({ learningRate: cosineDecay(options.learningRate, { steps: options.steps }) }),
      clipNorm: options.clip,
      precision: options.halfReductions ? withHalfReductions(given) : given,
      seed,
      accumulate: options.accumulate,
      onOverflow: options.onOverflow,
      signal: context.signal,
    });
    const record = await fitByFlags({ training, batches, options, context, label });
    const listen = (parameters: Parameters, { features }: Pick<Batch, "features">): Tensor =>
      argMax(model.apply(parameters, features), { axis: 2 });
    const rate = new ErrorRate();
    for await (const data of arrayDataset(speech.test, { batch, partial: "keep" })) {
      const best = await training.predict(listen, { features: data.features });
      const [, most = 0] = data.labels.shape;
      decode(best, data.frames.data).forEach((letters, row) => {
        const own = data.labels.data.subarray(row * most);
        rate.add(letters, [...own.subarray(0, data.lengths.data[row])]);
      });
    }
    return resultOf({
      context,
      options,
      backend,
      training,
      record,
      metric: { name: "character error rate", value: rate.value },
      flops: graphCost(training.graph(await firstBatch(batches))).flops,
      details: { data: speech.summary },
    });
  });
}
