import { type HostTensor, tensor } from "@mp/core";
import { permutation, randomStream } from "@mp/data";
import { logMel } from "../audio/log-mel.js";
import type { Options } from "../flags.js";
import { LETTERS, utterance } from "./tones.js";
import { readTranscribed, type Transcribed } from "./transcribed.js";

/** Utterances of one length: padded features, and labels that start at 1. */
export type Utterances = {
  /** [utterances, frames, mels], of mean 0 and deviation 1 over each utterance. */
  readonly features: HostTensor<"f32">;
  /** i32 [utterances]: frames before the padding. */
  readonly frames: HostTensor<"i32">;
  /** [utterances, most letters] */
  readonly labels: HostTensor<"i32">;
  /** i32 [utterances] */
  readonly lengths: HostTensor<"i32">;
};

export interface Speech {
  readonly train: Utterances;
  readonly test: Utterances;
  readonly letters: readonly string[];
  /** Facts about the data for the result. */
  readonly summary: Readonly<Record<string, unknown>>;
}

type Source = Pick<Options, "data" | "mels" | "noise" | "trainUtterances" | "testUtterances">;

/** Seeds of the two sets, independent of the run's seed. */
const TRAIN = 1;
const TEST = 2;
const TEST_SHARE = 0.1;

/** Reads the utterances in `--data`, or generates utterances of tones. @throws MP_IO, MP_PARSE as `readTranscribed` */
export async function loadSpeech(options: Source): Promise<Speech> {
  const { data, mels, noise, trainUtterances, testUtterances } = options;
  if (data === undefined) {
    const generate = (seed: number, count: number): readonly Transcribed[] =>
      Array.from({ length: count }, (_, index) => utterance(seed, index, noise));
    const [train, test] = [generate(TRAIN, trainUtterances), generate(TEST, testUtterances)];
    const summary = { source: "generated tones", noise, train: train.length, test: test.length };
    return { ...padTogether(train, test, mels), letters: LETTERS, summary };
  }
  const { utterances, letters } = await readTranscribed(data);
  const order = permutation(utterances.length, randomStream(TEST));
  const kept = Math.max(1, Math.round(TEST_SHARE * utterances.length));
  const pick = (places: Uint32Array): readonly Transcribed[] =>
    [...places].map((place) => utterances[place] as Transcribed);
  const [test, train] = [pick(order.subarray(0, kept)), pick(order.subarray(kept))];
  const summary = { source: data, letters: letters.join(""), train: train.length, test: test.length };
  return { ...padTogether(train, test, mels), letters, summary };
}

/** Pads both sets to one shape, so that one program runs both. */
function padTogether(
  train: readonly Transcribed[],
  test: readonly Transcribed[],
  mels: number,
): Pick<Speech, "train" | "test"> {
  const extractFeatures = (set: readonly Transcribed[]) =>
    set.map(({ sound, text }) => ({ features: logMel(sound, mels), text }));
  const [a, b] = [extractFeatures(train), extractFeatures(test)];
  const frames = Math.max(...[...a, ...b].map(({ features }) => features.shape[0] as number));
  const most = Math.max(...[...a, ...b].map(({ text }) => text.length));
  const stack = (set: ReturnType<typeof extractFeatures>): Utterances => {
    const features = new Float32Array(set.length * frames * mels);
    const labels = new Int32Array(set.length * most).fill(1);
    set.forEach(({ features: own, text }, row) => {
      features.set(standardize(own.data), row * frames * mels);
      labels.set(
        text.map((letter) => letter + 1),
        row * most,
      );
    });
    return {
      features: tensor(features, [set.length, frames, mels]),
      frames: tensor(Int32Array.from(set, (one) => one.features.shape[0] as number)),
      labels: tensor(labels, [set.length, most]),
      lengths: tensor(Int32Array.from(set, ({ text }) => text.length)),
    };
  };
  return { train: stack(a), test: stack(b) };
}

function standardize(data: Float32Array): Float32Array {
  const mean = data.reduce((sum, x) => sum + x, 0) / data.length;
  const variance = data.reduce((sum, x) => sum + (x - mean) ** 2, 0) / data.length;
  const scale = 1 / Math.sqrt(variance + 1e-6);
  return data.map((x) => (x - mean) * scale);
}
