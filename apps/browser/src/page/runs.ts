import { float32, mixedFloat16, type Tensor, type Traced, type Trainer, tensor } from "@mp/core";
import { softmax } from "@mp/core/ops";
import { digitBatch, digitBatches, unseenBatches } from "../digits/batches.js";
import { SIDE } from "../digits/paint.js";
import { type Batch, model, type Parameters } from "../model.js";
import { BATCH, digitTraining } from "../training.js";
import type { Engine } from "./engines.js";
import { type FromWorker, type GradientSummary, RUNS, type RunName } from "./messages.js";

/** Steps between evaluations on digits that no run trains on. */
const LOOK_EVERY = 25;
/** Batches of an evaluation. */
const LOOKS = 4;

const precisions = { float32, float16: mixedFloat16 } as const;

type Training = Trainer<Parameters, Batch, unknown, "accuracy">;

/** Trains both runs on the same batches, a step of each in turn. */
export class Runs {
  readonly #trainings: Readonly<Record<RunName, Training>>;
  readonly #steps: Readonly<Record<RunName, ReturnType<Training["steps"]>>>;
  readonly #send: (message: FromWorker) => void;
  #isWanted = false;
  #isTraining = false;

  static async open(
    engines: Readonly<Record<RunName, Engine>>,
    send: (message: FromWorker) => void,
  ): Promise<Runs> {
    const open = (run: RunName): Promise<Training> =>
      digitTraining({
        backend: engines[run].backend,
        precision: precisions[run](),
        // The page shows the engine's remark instead.
        onWarning: () => undefined,
      });
    return new Runs({ float32: await open("float32"), float16: await open("float16") }, send);
  }

  private constructor(trainings: Readonly<Record<RunName, Training>>, send: (message: FromWorker) => void) {
    this.#trainings = trainings;
    this.#send = send;
    const batches = digitBatches(BATCH);
    this.#steps = { float32: trainings.float32.steps(batches), float16: trainings.float16.steps(batches) };
  }

  async train(): Promise<void> {
    this.#isWanted = true;
    // `train` was called after `pause`, before the current step has ended.
    if (this.#isTraining) return;
    this.#isTraining = true;
    try {
      while (this.#isWanted) {
        for (const run of RUNS) await this.#step(run);
        await turn();
      }
    } finally {
      // Resets it after a failed step too, so that training can be started again.
      this.#isTraining = false;
    }
    this.#send({ type: "paused" });
  }

  pause(): void {
    this.#isWanted = false;
  }

  async #step(run: RunName): Promise<void> {
    const { value } = await this.#steps[run].next();
    if (value === undefined) throw new Error("internal: the digits ended");
    const { step, loss, scale, applied, milliseconds } = value;
    this.#send({ type: "step", run, step, loss, scale, applied, milliseconds });
    if (step % LOOK_EVERY !== 0) return;
    const { metrics } = await this.#trainings[run].evaluateAll(unseenBatches(LOOKS, BATCH));
    this.#send({ type: "accuracy", run, step, accuracy: metrics.accuracy });
  }

  async classify(image: Float32Array<ArrayBuffer>): Promise<void> {
    const x = tensor(image, [1, 1, SIDE, SIDE]);
    for (const run of RUNS) {
      const { data } = await this.#trainings[run].predict(probabilities, x);
      this.#send({ type: "classified", run, probabilities: Array.from(data as Float32Array) });
    }
  }

  async report(): Promise<void> {
    const training = this.#trainings.float16;
    const { iteration } = await training.counters();
    const { gradients, scale } = await training.precisionReport(digitBatch(iteration, BATCH));
    const { histogram, shares, recommendedScale } = gradients;
    const summary: GradientSummary = {
      step: iteration,
      scale,
      recommendedScale,
      shares: shares.f16.filter((share) => share.scale === 1 || share.scale === scale),
      first: histogram.first,
      counts: histogram.counts,
    };
    this.#send({ type: "report", gradients: summary });
  }

  async checkpoint(run: RunName): Promise<void> {
    const training = this.#trainings[run];
    const { iteration } = await training.counters();
    this.#send({ type: "checkpoint", run, step: iteration, bytes: await training.saveBytes() });
  }
}

const probabilities = (parameters: Traced<Parameters>, x: Tensor): Tensor =>
  softmax(model.apply(parameters, x), 1);

/** Waits until the messages that came during a step have been handled. */
const turn = (): Promise<void> =>
  new Promise((done) => {
    setTimeout(done, 0);
  });
