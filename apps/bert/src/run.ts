import type { AppContext, RunResult } from "@mp/cli";
import {
  firstBatch,
  fitByFlags,
  onBackend,
  precisionOf,
  resultOf,
  withHalfReductions,
} from "@mp/cli/training";
import {
  adamW,
  type Backend,
  type Fed,
  foldIn,
  type HostTensor,
  key,
  loadParameters,
  type Precision,
  type Tree,
  trainer,
  warmup,
} from "@mp/core";
import { graphCost } from "@mp/core/graph";
import { linearSchedule } from "@mp/core/optim";
import type { Options } from "./flags.js";
import { type Encoder, type EncoderOptions, encoder } from "./model.js";
import { classifyTask } from "./tasks/classify.js";
import { maskedTask } from "./tasks/masked.js";
import type { Task } from "./tasks/task.js";
import type { Text } from "./text/load-text.js";

/** Limits the gradients' global norm, as BERT's own training does. */
const CLIP_NORM = 1;

/** One training run from its first step to its metric. */
export function runBert(
  options: Options,
  label: string,
  text: Text,
  context: AppContext,
): Promise<RunResult> {
  return onBackend(options, async (backend) => {
    const own = encoderOptions(options, text);
    const model = { encoder: encoder(own), options: own };
    const start = await startOf(options, model.encoder);
    const run = <P extends Tree<HostTensor>, B>(task: Task<P, B>): Promise<RunResult> =>
      trained(task, { backend, options, label, text, context });
    return options.task === "masked"
      ? run(maskedTask(options, text, model, start))
      : run(classifyTask(options, text, model, start));
  });
}

function encoderOptions(options: Options, text: Text): EncoderOptions {
  const { sequence, layers, size, heads, hidden = 4 * size, dropout, checkpointing } = options;
  return {
    vocabulary: text.pieces.length,
    sequence,
    layers,
    size,
    heads,
    hidden,
    dropout,
    checkpointing,
  };
}

/** The run's key, and the encoder's initial parameters: drawn, or those of the checkpoint `--from` names. */
async function startOf({ seed, from }: Options, model: Encoder) {
  const start = foldIn(key(seed), "model");
  const params = { encoder: model.init(foldIn(start, "encoder")) };
  if (from === undefined) return { key: start, encoder: params.encoder };
  const loaded = await loadParameters(from, { params });
  return { key: start, encoder: loaded.params.encoder };
}

interface Run {
  readonly backend: Backend;
  readonly options: Options;
  readonly label: string;
  readonly text: Text;
  readonly context: AppContext;
}

async function trained<P extends Tree<HostTensor>, B>(task: Task<P, B>, run: Run): Promise<RunResult> {
  const { backend, options, label, text, context } = run;
  const { seed, accumulate, onOverflow } = options;
  await using training = await trainer<P, B>({
    backend,
    params: task.params,
    loss: task.loss,
    optimizer: optimizerOf(options),
    precision: precisionsOf(options, backend),
    clipNorm: CLIP_NORM,
    seed,
    accumulate,
    onOverflow,
    signal: context.signal,
  });
  const record = await fitByFlags({ training, batches: task.batches, options, context, label });
  const metric = await task.judge(training);
  const batch: Fed<B> = await firstBatch(task.batches);
  return resultOf({
    context,
    options,
    backend,
    training,
    record,
    metric,
    flops: graphCost(training.graph(batch)).flops,
    details: { task: options.task, text: text.summary },
  });
}

function precisionsOf(options: Options, { manifest }: Backend): Precision {
  const precision = precisionOf(options, manifest);
  return options.halfReductions ? withHalfReductions(precision) : precision;
}

/** The learning rate rises for a share of the steps, then falls to 0, both linearly. */
function optimizerOf({ steps, warmup: share, learningRate, weightDecay }: Options) {
  const rising = Math.max(1, Math.round(share * steps));
  const falling = linearSchedule(learningRate, 0, Math.max(1, steps - rising));
  return adamW({ learningRate: warmup(rising, falling), weightDecay });
}
