import { foldIn, type HostTensor, key, loadParameters, type Tree } from "@mp/core";
import type { Options } from "../flags.js";
import { type Encoder, type EncoderOptions, encoder } from "../model.js";
import type { Text } from "../text/load-text.js";
import { classifyTask } from "./classify.js";
import { maskedTask } from "./masked.js";
import type { Task } from "./task.js";

/** Uses a task of any parameters and batches. */
export type TaskUser<R> = <P extends Tree<HostTensor>, B>(task: Task<P, B>) => Promise<R>;

/** Makes the model and the task that the flags name. @throws UsageError, or what reading `--from` throws */
export async function withTask<R>(options: Options, text: Text, use: TaskUser<R>): Promise<R> {
  const own = encoderOptions(options, text);
  const model = { encoder: encoder(own), options: own };
  const start = await startingPoint(options, model.encoder);
  return options.task === "masked"
    ? use(maskedTask(options, text, model, start))
    : use(classifyTask(options, text, model, start));
}

function encoderOptions(options: Options, text: Text): EncoderOptions {
  const { sequence, layers, size, heads, hidden = 4 * size, dropout, checkpointing } = options;
  const vocabulary = text.pieces.length;
  return { vocabulary, sequence, layers, size, heads, hidden, dropout, checkpointing };
}

/** The run's key, and the encoder's initial parameters: random, or from the checkpoint of `--from`. */
async function startingPoint({ seed, from }: Options, model: Encoder) {
  const start = foldIn(key(seed), "model");
  const params = { encoder: model.init(foldIn(start, "encoder")) };
  if (from === undefined) return { key: start, encoder: params.encoder };
  const loaded = await loadParameters(from, { params });
  return { key: start, encoder: loaded.params.encoder };
}
