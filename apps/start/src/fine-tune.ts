import type { ProgressDisplay } from "@mp/callbacks";
import {
  adamW,
  type Backend,
  float16,
  float32,
  isHostTensor,
  leavesOf,
  mixedFloat16,
  type Precision,
  type PrecisionReport,
  trainer,
} from "@mp/core";
import type { HistoryStep } from "@mp/report";
import { characterNetwork, type NetworkParameters } from "./network.js";
import { takeBatch } from "./text.js";

const BATCH = 512;
/** Batches that measure the loss before and after a training, none of which is trained on. */
const MEASURED = 8;
/** Training counts lost updates and gradients that are 0 this many times. */
const COUNTS = 6;

export const network = characterNetwork({ embedding: 16, hidden: 128 });

/** The precisions that are compared, by their names in the table and on the page. */
export const PRECISIONS: Readonly<Record<string, Precision>> = {
  float32: float32(),
  "mixed precision": mixedFloat16(),
  "float16 alone": float16(),
};

export interface Training {
  readonly backend: Backend;
  readonly params: NetworkParameters;
  readonly precision: Precision;
  readonly text: Int32Array;
  readonly steps: number;
  readonly learningRate: number;
  readonly progress: ProgressDisplay;
}

/** What a training came to. */
export interface Trained {
  readonly params: NetworkParameters;
  readonly history: readonly HistoryStep[];
  /** Mean loss of batches that were not trained on. */
  readonly before: number;
  readonly after: number;
  /** Share of nonzero updates that left their weight unchanged. */
  readonly lost: number;
  /** Share of gradients that were 0. */
  readonly zeros: number;
  readonly report: PrecisionReport;
}

/** Trains by AdamW from the given parameters, in one precision. */
export async function train(options: Training): Promise<Trained> {
  const { backend, params, precision, text, steps, learningRate, progress } = options;
  await using training = await trainer({
    backend,
    params,
    loss: network.loss,
    optimizer: adamW({ learningRate }),
    precision,
    checkUpdates: Math.ceil(steps / COUNTS),
    // The table says what is emulated, and what is lost.
    onWarning: () => {},
  });
  const size = leavesOf(params, isHostTensor, "parameters").reduce(
    (sum, [, { data }]) => sum + data.length,
    0,
  );
  const measure = async (): Promise<number> => {
    let sum = 0;
    for (let number = 0; number < MEASURED; number++)
      sum += (await training.evaluate(takeBatch(text, BATCH, steps + number))).loss;
    return sum / MEASURED;
  };
  const before = await measure();
  const history: HistoryStep[] = [];
  const count = { gradients: 0, zeros: 0, updates: 0, lost: 0 };
  for (let step = 1; step <= steps; step++) {
    const { loss, scale, applied, gradNorm, updates } = await training.step(takeBatch(text, BATCH, step - 1));
    history.push({ step, loss, scale, applied, gradNorm });
    progress.update({ step, loss, skipped: 0 });
    if (updates === undefined) continue;
    count.gradients += size;
    count.zeros += size;
    for (const tensor of updates) {
      count.zeros -= tensor.gradients;
      count.updates += tensor.updates;
      count.lost += tensor.lost;
    }
  }
  progress.end();
  return {
    params: await training.parameters(),
    history,
    before,
    after: await measure(),
    lost: count.lost / count.updates,
    zeros: count.zeros / count.gradients,
    report: await training.precisionReport(takeBatch(text, BATCH, steps)),
  };
}
