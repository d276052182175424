import { invalid } from "@mp/graph/internal";
import { type FlatBatch, feedBatch } from "../batch/batch.js";
import type { FitResult, FitTraining } from "../callbacks/callback.js";
import { CallbackStates } from "../callbacks/callback-states.js";
import type { Json } from "../callbacks/json.js";
import { ByFunction } from "../compile/by-function.js";
import type { CallQueue } from "../compile/call-queue.js";
import type { CompiledPrograms } from "../compile/compiled-programs.js";
import { type AnyEvaluateAllOptions, type EvaluatingRun, evaluateAll } from "../data/evaluate-all.js";
import type { FeedingRun } from "../data/made-steps.js";
import type { TrainingData } from "../data/source.js";
import type { Definitions } from "../definition/definition.js";
import { byObjective } from "../definition/objective-state.js";
import { numberIn } from "../definition/outputs.js";
import type { StepResult } from "../definition/result.js";
import type { TrainingWarning } from "../definition/warning.js";
import { type MetricsFunction, TracedMetrics } from "../metrics/traced-metrics.js";
import { DrawLimit } from "../objective/draw-limit.js";
import { ObjectiveRun } from "../objective/objective-run.js";
import { type Collective, noStep } from "../ranks/collective.js";
import { readsAverage } from "../weights/average.js";

interface RunStepsParts {
  readonly definitions: Definitions;
  readonly objectives: readonly ObjectiveRun[];
  readonly programs: CompiledPrograms;
  readonly calls: CallQueue;
  readonly collective: Collective;
  readonly signal: AbortSignal | undefined;
  readonly training: FitTraining;
  readonly breathe: () => Promise<void> | undefined;
  readonly warn: (warning: TrainingWarning) => void;
}

/** Makes the steps of a run, and keeps the position in the data that the state has reached. */
export class RunSteps implements FeedingRun {
  readonly accumulate: number;
  readonly signal: AbortSignal | undefined;
  readonly training: FitTraining;
  readonly callbackStates: CallbackStates = new CallbackStates();
  readonly drawLimit: DrawLimit;
  readonly breathe: () => Promise<void> | undefined;
  readonly warn: (warning: TrainingWarning) => void;
  readonly #parts: RunStepsParts;
  readonly #metrics: ByFunction<MetricsFunction, TracedMetrics>;
  /** The position in the data: null unless `fit`, `steps` or a checkpoint set it. */
  position: Json = null;
  #isFeeding = false;

  constructor(parts: RunStepsParts) {
    const { definitions, programs, signal, training, breathe, warn } = parts;
    this.#parts = parts;
    this.accumulate = definitions[0].accumulate;
    this.drawLimit = new DrawLimit(programs.state);
    this.signal = signal;
    this.training = training;
    this.breathe = breathe;
    this.warn = warn;
    this.#metrics = new ByFunction("evaluateAll: metrics", warn, (id, given) => new TracedMetrics(id, given));
  }

  /** Drops or reads again what the host knows of a state that was replaced. */
  async refresh(): Promise<void> {
    this.drawLimit.forget();
    for (const objective of this.#parts.objectives) await objective.refresh();
  }

  moveTo(cursor: Json): void {
    this.position = cursor;
  }

  cursor(): Promise<Json> {
    return this.#parts.calls.add(async () => this.position);
  }

  /** Flattens a batch; a property, so that it can be passed on. */
  readonly take = (batch: unknown, name?: string): FlatBatch =>
    feedBatch(batch, name, this.#parts.programs.adopt);

  /** Makes a step for a call of the trainer's `step`, and throws the same errors. */
  async stepOn(batches: readonly unknown[]): Promise<StepResult> {
    this.expectIdle("step");
    let result: StepResult | undefined;
    try {
      checkMicrobatches(batches, this.accumulate);
      // Only the caller knows the position in the data.
      result = await this.step(
        batches.map((batch) => this.take(batch)),
        null,
      );
    } catch (error) {
      throw await this.tellError(error);
    }
    if (result === undefined) throw noStep(this.signal);
    return result;
  }

  /** Makes a step. With objectives, the result has one entry for each, which the type does not show. */
  step(feeds: readonly FlatBatch[], cursor: Json): Promise<StepResult | undefined> {
    const { definitions, objectives, calls, collective } = this.#parts;
    return calls.add(async () => {
      const facts = () => ObjectiveRun.facts(objectives, feeds);
      const makesStep = collective.makesStep?.(facts, this.signal);
      if (makesStep !== undefined && !(await makesStep)) return undefined;
      await this.drawLimit.add(feeds.length);
      const results = await ObjectiveRun.step(objectives, feeds, () => this.moveTo(cursor));
      return byObjective(definitions, results) as StepResult;
    });
  }

  iteration(): Promise<number> {
    const { calls, programs } = this.#parts;
    return calls.add(async () => numberIn(await programs.state.read(["iteration"]), "iteration"));
  }

  passes(pass: number): Promise<boolean> {
    return this.#exchange((collective) => collective.passes(pass));
  }

  endsBy(end: FitResult["ended"]): Promise<FitResult["ended"]> {
    return this.#exchange((collective) => collective.endsBy(end));
  }

  async evaluateAll<T>(data: TrainingData<T>, options: AnyEvaluateAllOptions<T>): Promise<unknown> {
    const { definitions, objectives, calls } = this.#parts;
    const { take, breathe, warn } = this;
    const average = readsAverage("evaluateAll", options, definitions[0].ema);
    const run: EvaluatingRun = {
      take,
      breathe,
      warn,
      evaluate: (feed, model, metrics) =>
        calls.add(() => ObjectiveRun.evaluateAll(objectives, [feed, model, average, metrics])),
      traced: (metrics) => this.#metrics.of(metrics),
    };
    return byObjective(definitions, await evaluateAll(run, data, options));
  }

  /** Begins a call of `fit` or `steps`. @throws MP_DISPOSED; MP_INVALID_ARGUMENT if another is running */
  enter(what: string): void {
    this.#parts.calls.expectOpen();
    this.expectIdle(what);
    this.#isFeeding = true;
    this.#parts.collective.begins();
  }

  leave(): void {
    this.#isFeeding = false;
  }

  /** @throws MP_INVALID_ARGUMENT during `fit` or `steps`, whose count and position another step would change */
  expectIdle(what: string): void {
    if (!this.#isFeeding) return;
    throw invalid(
      `${what}: a fit or steps of this trainer is under way; let it end, or break out of its loop`,
    );
  }

  /** Tells the other processes of an error, and returns it. */
  async tellError(error: unknown): Promise<unknown> {
    // If the trainer is disposed, nothing is sent.
    await this.#exchange((collective) => collective.tell(error)).catch(() => undefined);
    return error;
  }

  /** Exchanges with the other processes after earlier calls; a single process waits for nothing. */
  async #exchange<T>(exchange: (collective: Collective) => Promise<T>): Promise<T> {
    const { calls, collective } = this.#parts;
    return collective.place.size > 1 ? calls.add(() => exchange(collective)) : exchange(collective);
  }
}

/** @throws MP_INVALID_ARGUMENT if the number of batches is not `accumulate` */
function checkMicrobatches(batches: readonly unknown[], accumulate: number): void {
  if (batches.length === accumulate) return;
  throw invalid(
    accumulate === 1
      ? `step: takes one batch, got ${batches.length}; put named tensors in one object: step({ x, y })`
      : `step: takes ${accumulate} batches (accumulate), got ${batches.length}`,
  );
}
