import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type AppContext, type RunResult, UsageError } from "@mp/cli";
import { firstBatch, fitByFlags, onBackend, plainOptions, resultOf, textTable } from "@mp/cli/training";
import { key } from "@mp/core";
import { byteLength } from "@mp/core/graph";
import { planMemory } from "@mp/core/report";
import { saveCausalLm } from "@mp/language-models";
import { saveAdapter } from "@mp/nn/adapters";
import type { Options } from "./flags.js";
import { writeSamples } from "./samples.js";
import type { Source } from "./source.js";
import { openTuning, type Tuning } from "./tuning.js";

/** Largest number of held-out batches to measure, which is enough to compare runs, but not a benchmark. */
const MEASURED = 50;

/** Training of a tiny model before it is fine-tuned. */
const PRETRAINING = { steps: 200, learningRate: 5e-3, batch: 8, length: 64, accumulate: 1 };

/** Trains all weights of a tiny model in float32, and writes them into its folder. */
export function pretrain(options: Options, source: Source, context: AppContext): Promise<void> {
  const { pretrain: train } = source;
  if (train === undefined) return Promise.resolve();
  return onBackend(options, async (backend) => {
    const own = { ...plainOptions(options), ...PRETRAINING, loraRank: 0, base: "f32" as const };
    const texts = { ...source, train, heldOut: train };
    await using tuning = await openTuning(own, texts, { backend, signal: context.signal });
    await tuning.training.fit(tuning.batches, { steps: own.steps });
    await saveCausalLm(source.folder, tuning.model, (await tuning.training.parameters()).base);
  });
}

/** One fine-tuning, from the model's folder to its perplexity and its adapter. */
export function fineTune(
  options: Options,
  label: string,
  source: Source,
  context: AppContext,
): Promise<RunResult> {
  return onBackend(options, async (backend) => {
    await using tuning = await openTuning(options, source, { backend, signal: context.signal });
    const { training, batches, adapted } = tuning;
    const { adapter, model } = options;
    if (adapter !== undefined && adapted !== undefined)
      await tryFolder("--adapter", adapter, (trial) => saveAdapter(trial, adapted, adapted.init(key(0))));
    const before = await measurePerplexity(tuning);
    const measured = source.heldOut === source.train ? "the first training texts" : "held-out texts";
    context.print(`${label}: perplexity of ${measured} ${before.toFixed(2)} before training`);
    const record = await fitByFlags({ training, batches, options, context, label });
    const value = await measurePerplexity(tuning);
    const weights = await training.parameters();
    if (adapter !== undefined && adapted !== undefined) {
      const base = model === undefined ? {} : { base: model };
      const save = () => saveAdapter(adapter, adapted, weights.adapters, base);
      await context.attempt(`--adapter ${adapter}`, save);
    }
    await context.attempt(`--samples ${options.samples}`, async () => {
      for (const line of await writeSamples(tuning, weights, { backend, count: options.samples }))
        context.print(line);
    });
    return resultOf({
      context,
      options,
      backend,
      training,
      record,
      metric: { name: "perplexity", value },
      details: { model: source.name, before },
    });
  });
}

/** Tries to save below the folder that a flag names, and removes the try, so that no training is lost to a bad path. */
async function tryFolder(
  flag: string,
  folder: string,
  save: (folder: string) => Promise<void>,
): Promise<void> {
  const trial = join(folder, `trial-${process.pid}`);
  try {
    await save(trial);
  } catch (error) {
    throw new UsageError(`${flag} ${folder}: ${(error as Error).message}`);
  } finally {
    await rm(trial, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** Prints the memory that a step needs, from its graph; trains nothing. */
export function printMemory(options: Options, source: Source, context: AppContext): Promise<void> {
  return onBackend(options, async (backend) => {
    await using tuning = await openTuning(options, source, { backend, signal: context.signal });
    const graph = tuning.training.graph(await firstBatch(tuning.batches));
    const { precision } = tuning.training;
    const { kinds, peak } = planMemory(graph, { manifest: backend.manifest, precision });
    const frozen = graph.inputs.filter(({ name }) => name.startsWith("state/frozen/"));
    const base = frozen.reduce((sum, { value }) => sum + byteLength(value), 0);
    const rows: readonly (readonly [string, number])[] = [
      [`base (${options.base}), frozen`, base],
      [options.loraRank === 0 ? "weights" : "adapters", kinds.masters - base],
      ["their gradients", kinds.gradients],
      ["optimizer", kinds.optimizer],
      ["activations kept for the backward pass", kinds.activations],
      ["16-bit copies of weights", kinds.halfWeights],
      ["batch", kinds.batch],
      ["peak of a step", peak],
    ];
    context.print(
      textTable(
        ["planned", "MiB"],
        rows.map(([name, bytes]) => [name, (bytes / 2 ** 20).toFixed(1)]),
      ),
    );
  });
}

/** Measures the perplexity, exp of the mean loss over the tokens that count. */
async function measurePerplexity({ training, heldOut }: Tuning): Promise<number> {
  let [sum, tokens, measured] = [0, 0, 0];
  for await (const batch of heldOut) {
    const counted = batch.targets.data.filter((target) => target >= 0).length;
    if (counted > 0) sum += counted * (await training.evaluate(batch)).loss;
    tokens += counted;
    if (++measured === MEASURED) break;
  }
  return Math.exp(sum / tokens);
}
