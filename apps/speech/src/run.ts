import type { RunResult } from "@mp/cli";
import { fitByFlags, type Run, resultOf, stepFlops, trainerOptions } from "@mp/cli/training";
import { adam, cosineDecay, key, type Tensor, type Traced, trainer } from "@mp/core";
import { argMax } from "@mp/core/ops";
import { arrayDataset } from "@mp/data";
import { ctcLoss } from "@mp/nn";
import { decode, ErrorRate } from "./decode.js";
import type { Options } from "./flags.js";
import { outputLength, recognizer } from "./model.js";
import type { Speech } from "./speech/load-speech.js";

type Batch = Readonly<Record<"features" | "frames" | "labels" | "lengths", Tensor>>;

/** One training run from its first step to its character error rate on test utterances. */
export async function runSpeech(run: Run<Options>, speech: Speech): Promise<{ readonly result: RunResult }> {
  const { seed, batch, steps, learningRate, clip } = run.options;
  const model = recognizer({ ...run.options, classes: speech.letters.length + 1 });
  type Parameters = Traced<ReturnType<typeof model.init>>;
  await using training = await trainer({
    ...trainerOptions(run),
    params: model.init(key(seed)),
    loss: (parameters: Parameters, { features, frames, labels, lengths }: Batch) =>
      ctcLoss(
        model.apply(parameters, features),
        { labels, labelLengths: lengths, inputLengths: outputLength(frames) },
        { zeroInfinity: true },
      ),
    optimizer: adam({ learningRate: cosineDecay(learningRate, { steps }) }),
    clipNorm: clip,
  });
  const batches = arrayDataset(speech.train, {
    batch,
    epochs: Number.POSITIVE_INFINITY,
    shuffle: { seed },
  });
  const record = await fitByFlags({ ...run, training, batches });
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
  const metric = { name: "character error rate", value: rate.value };
  const flops = await stepFlops(training, batches);
  const details = { data: speech.summary };
  return { result: await resultOf({ ...run, training, record, metric, flops, details }) };
}
