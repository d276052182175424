import type { CastReport } from "../cast/explain.js";
import type { ProfileRow } from "../contract/backend.js";
import { MpError } from "../errors.js";
import type { Graph } from "../graph/graph.js";
import { checkOptions } from "../options.js";
import type { Precision } from "../precision/presets.js";
import { type FedBatch, feedBatch } from "./batch/batch.js";
import { checkMicrobatches } from "./batch/check-parts.js";
import type { FitResult, FitStep, RatesByGroup } from "./callbacks/callback.js";
import { CallbackStates } from "./callbacks/callback-states.js";
import type { Json } from "./callbacks/json.js";
import type { SaveOptions } from "./checkpoint/checkpoint.js";
import { type CheckpointSource, fromBytes, fromFile, toBytes, toFile } from "./checkpoint/file/place.js";
import { ByFunction } from "./compile/by-function.js";
import type { CallQueue } from "./compile/call-queue.js";
import { ProgramCache } from "./compile/program-cache.js";
import { type AnyEvaluateAllOptions, type EvaluatingRun, evaluateAll } from "./data/evaluate-all.js";
import { breather } from "./data/event-loop.js";
import { type FitOptions, fit } from "./data/fit.js";
import { type FeedingOptions, type FeedingRun, stepsOfPass } from "./data/made-steps.js";
import type { TrainingData } from "./data/source.js";
import type { Definitions } from "./definition/definition.js";
import { type ByObjective, byObjective } from "./definition/objective-state.js";
import { numberIn } from "./definition/outputs.js";
import type { TypeTree } from "./definition/program.js";
import type { Counters, StepResult } from "./definition/result.js";
import type { PredictFunction } from "./definition/user-function.js";
import type { TrainingWarning } from "./definition/warning.js";
import { checkDiagnose, type Diagnosis } from "./diagnosis/diagnose.js";
import { type MadeRun, madeRun } from "./made-run.js";
import { type MetricsFunction, TracedMetrics } from "./metrics/traced-metrics.js";
import { bytesOfAll, fileOfRankZero } from "./ranks/share.js";
import { noStep, type Together } from "./ranks/together.js";
import type { PrecisionReport } from "./report/report.js";
import { ObjectiveRun } from "./run/objective-run.js";
import { objectiveWarnings } from "./run/objective-warnings.js";
import { ratesOf, ratesToSet } from "./run/set-rates.js";
import { readPart } from "./run/state-part.js";
import { isWindowed } from "./run/stepper.js";
import { WeightsReader } from "./run/weights-reader.js";
import { RunCheckpoints } from "./run-checkpoints.js";
import type { RunOptions } from "./run-options.js";
import { readsAverage, type WeightsChoice } from "./weights/average.js";

/** A training run: the resident state, the programs compiled for it, and one queue of calls. */
export class TrainingRun {
  readonly precision: Precision;
  readonly warnings: TrainingWarning[] = [];
  readonly #definitions: Definitions;
  readonly #objectives: readonly ObjectiveRun[];
  readonly #onWarning: (warning: TrainingWarning) => void;
  readonly #warn = (warning: TrainingWarning): void => {
    if (this.warnings.some((known) => known.message === warning.message)) return;
    this.warnings.push(warning);
    this.#onWarning(warning);
  };
  readonly #stateTypes: TypeTree;
  readonly #programs: ProgramCache;
  readonly #weights: WeightsReader;
  readonly #metrics = new ByFunction(
    "evaluateAll: metrics",
    this.#warn,
    (id, metrics: MetricsFunction) => new TracedMetrics(id, metrics),
  );
  readonly #calls: CallQueue;
  readonly #breathe: FeedingRun["breathe"];
  readonly #signal: AbortSignal | undefined;
  /** The position in the data that the state is at, if `fit` or `steps` led to it. */
  #cursor: Json = null;
  readonly #callbackStates = new CallbackStates();
  #isFeeding = false;
  readonly #together: Together;
  /** Reads the parameters where ranks have parts of them. */
  readonly #gathered: MadeRun["parameters"];
  readonly #checkpoints: RunCheckpoints;

  private constructor(options: RunOptions, made: MadeRun) {
    const { backend, maxConsecutiveSkips, signal } = options;
    const { definitions, types: stateTypes, given, state, kept, calls, together } = made;
    this.precision = definitions[0].precision;
    this.#definitions = definitions;
    this.#onWarning = options.onWarning;
    this.#signal = signal;
    this.#stateTypes = stateTypes;
    this.#calls = calls;
    this.#together = together;
    const programs = new ProgramCache(backend, state, options.programs * definitions.length, this.#warn);
    this.#programs = programs;
    this.#weights = new WeightsReader(programs, definitions[0], stateTypes, this.#warn);
    this.#breathe = breather(backend.manifest);
    this.#gathered = made.parameters;
    const parts = { ...kept, stateTypes, given, programs, together, warn: this.#warn };
    this.#checkpoints = new RunCheckpoints(parts, this.#callbackStates);
    const warnings = objectiveWarnings(definitions, this.#warn);
    this.#objectives = definitions.map(
      (definition, at) =>
        new ObjectiveRun(programs, {
          definition,
          stateTypes,
          reduction: together.reduction(),
          maxConsecutiveSkips,
          // A step that an earlier objective has committed a part of is finished, and so is one that all ranks make.
          signal: at === 0 && together.place.size === 1 ? signal : undefined,
          warn: warnings(definition),
          breathe: this.#breathe,
        }),
    );
  }

  static async start(options: RunOptions): Promise<TrainingRun> {
    const made = await madeRun(options);
    const run = new TrainingRun(options, made);
    try {
      for (const { precision } of made.definitions) {
        for (const warning of precision.warnings ?? []) run.#warn(warning);
        for (const message of precision.lossScaler.warnings ?? []) run.#warn({ type: "numerics", message });
      }
      return run;
    } catch (error) {
      // The caller never gets the run, so it could not dispose it.
      await run.dispose();
      throw error;
    }
  }

  /** Its result, or those of the objectives by their names: the class does not know which. */
  async step(...batches: readonly unknown[]): Promise<StepResult> {
    this.#expectNoFeeding("step");
    let result: StepResult | undefined;
    try {
      checkMicrobatches(batches, this.#definitions[0].accumulate);
      const feeds = batches.map((batch) => this.#take(batch));
      // If you call `step` yourself, only you know the position in the data.
      result = await this.#step(feeds, null);
    } catch (error) {
      throw await this.#told(error);
    }
    if (result === undefined) throw noStep(this.#signal);
    return result;
  }

  /** Undefined if training ends on a rank, so that none makes the step. */
  #step(feeds: readonly FedBatch[], cursor: Json): Promise<StepResult | undefined> {
    return this.#calls.add(async () => {
      const facts = () => ObjectiveRun.facts(this.#objectives, feeds);
      const makesStep = this.#together.makesStep?.(facts, this.#signal);
      if (makesStep !== undefined && !(await makesStep)) return undefined;
      const results = await ObjectiveRun.step(this.#objectives, feeds, () => {
        this.#cursor = cursor;
      });
      return this.#byObjective(results) as StepResult;
    });
  }

  #byObjective<T>(values: readonly T[]): ByObjective<T> {
    return byObjective(this.#definitions, values);
  }

  /** Asks each objective in turn, after earlier calls. */
  #eachInTurn<T>(ask: (objective: ObjectiveRun) => Promise<T>): Promise<ByObjective<T>> {
    return this.#calls.add(async () => {
      const answers: T[] = [];
      for (const objective of this.#objectives) answers.push(await ask(objective));
      return this.#byObjective(answers);
    });
  }

  async fit<T>(data: TrainingData<T>, options: FitOptions<string, T> = {}): Promise<FitResult> {
    this.#startFeeding("fit");
    try {
      return await fit(this.#feeding, data, options);
    } catch (error) {
      throw await this.#told(error);
    } finally {
      this.#isFeeding = false;
    }
  }

  async *steps<T>(
    data: TrainingData<T>,
    options: FeedingOptions = {},
  ): AsyncGenerator<FitStep<string, T>, undefined> {
    this.#startFeeding("steps");
    try {
      yield* stepsOfPass(this.#feeding, data, options);
    } catch (error) {
      throw await this.#told(error);
    } finally {
      this.#isFeeding = false;
    }
  }

  #startFeeding(what: string): void {
    this.#calls.expectOpen();
    this.#expectNoFeeding(what);
    this.#isFeeding = true;
    this.#together.begins();
  }

  /** An error that other processes have been told of. */
  async #told(error: unknown): Promise<unknown> {
    // A trainer that was disposed tells nothing.
    await this.#amongAll(() => this.#together.tell(error)).catch(() => undefined);
    return error;
  }

  /** Exchanges with the other processes, after earlier calls; a process that is alone waits for nothing. */
  async #amongAll<T>(exchange: () => Promise<T>): Promise<T> {
    return this.#together.place.size > 1 ? this.#calls.add(exchange) : exchange();
  }

  /** A step during `fit` would change its count and its position in the data. */
  #expectNoFeeding(what: string): void {
    if (!this.#isFeeding) return;
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `${what}: a fit or steps of this trainer is under way; let it end, or break out of its loop`,
    );
  }

  #take(batch: unknown, name?: string): FedBatch {
    return feedBatch(batch, name, this.#programs.adopt);
  }

  get #feeding(): FeedingRun {
    return {
      take: (batch, name) => this.#take(batch, name),
      accumulate: this.#definitions[0].accumulate,
      signal: this.#signal,
      iteration: () =>
        this.#calls.add(async () => numberIn(await this.#programs.state.read(["iteration"]), "iteration")),
      cursor: () => this.#calls.add(async () => this.#cursor),
      moveTo: (cursor) => {
        this.#cursor = cursor;
      },
      step: (feeds, cursor) => this.#step(feeds, cursor),
      passes: (pass) => this.#amongAll(() => this.#together.passes(pass)),
      endsBy: (end) => this.#amongAll(() => this.#together.endsBy(end)),
      training: this,
      callbackStates: this.#callbackStates,
      breathe: this.#breathe,
      warn: this.#warn,
    };
  }

  async profile(batch: unknown): Promise<ByObjective<readonly ProfileRow[]>> {
    this.#expectNoFeeding("profile");
    const feed = this.#take(batch);
    return this.#eachInTurn(async (objective) => {
      const rows = await objective.profile(feed);
      if (!isWindowed(this.#definitions[0], this.#together.isShared)) this.#cursor = null;
      return rows;
    });
  }

  peakBytes(): Promise<number | undefined> {
    return this.#calls.add(async () => this.#programs.peakBytes());
  }

  async diagnose(
    batches: readonly unknown[],
    options: { readonly scale?: ByObjective<number> } = {},
  ): Promise<ByObjective<Diagnosis | undefined>> {
    const scaleOf = checkDiagnose(batches, options, this.#definitions);
    const feeds = batches.map((batch) => this.#take(batch));
    return this.#eachInTurn((objective) => objective.diagnose(feeds, scaleOf(objective.definition)));
  }

  async precisionReport(batch: unknown): Promise<ByObjective<PrecisionReport>> {
    const feed = this.#take(batch);
    return this.#eachInTurn((objective) => objective.precisionReport(feed));
  }

  async evaluate(
    batch: unknown,
    options: WeightsChoice & { readonly modelState?: unknown } = {},
  ): Promise<unknown> {
    checkOptions("evaluate", options, { modelState: true, weights: true }, "{ modelState }");
    const average = this.#readsAverage("evaluate", options);
    const feed = this.#take(batch);
    const model = options.modelState === undefined ? undefined : this.#take(options.modelState, "model");
    return this.#eachInTurn((objective) => objective.evaluate(feed, model, average));
  }

  async evaluateAll<T>(data: TrainingData<T>, options: AnyEvaluateAllOptions<T> = {}): Promise<unknown> {
    const average = this.#readsAverage("evaluateAll", options);
    const run: EvaluatingRun = {
      ...this.#feeding,
      evaluate: (feed, model, metrics) =>
        this.#calls.add(() => ObjectiveRun.evaluated(this.#objectives, [feed, model, average, metrics])),
      traced: (metrics) => this.#metrics.of(metrics),
    };
    return this.#byObjective(await evaluateAll(run, data, options));
  }

  #readsAverage(what: string, options: WeightsChoice): boolean {
    return readsAverage(what, options, this.#definitions[0].ema);
  }

  async predict(predict: PredictFunction, data: unknown, options: WeightsChoice = {}): Promise<unknown> {
    const run = this.#weights.predictor(predict, options);
    const feed = this.#take(data, "data");
    return this.#calls.add(() => run(feed));
  }

  async parameters(options: WeightsChoice = {}): Promise<unknown> {
    const read = this.#weights.parameters(options);
    return this.#calls.add(this.#gathered ?? read);
  }

  modelState(): Promise<unknown> {
    return this.#calls.add(() => readPart(this.#programs.state, this.#stateTypes, "model"));
  }

  scalerState(): Promise<unknown> {
    return this.#calls.add(() => readPart(this.#programs.state, this.#stateTypes, "scaler"));
  }

  rates(): Promise<RatesByGroup> {
    return this.#calls.add(() => ratesOf(this.#programs.state, this.#stateTypes));
  }

  async setRates(rates: unknown): Promise<void> {
    const values = ratesToSet(this.#definitions, rates);
    return this.#calls.add(async () => {
      await this.#programs.state.write(values);
      this.#together.ratesSet(values);
    });
  }

  counters(): Promise<ByObjective<Counters>> {
    return this.#eachInTurn((objective) => objective.counters());
  }

  async save(path: string, options: SaveOptions = {}): Promise<void> {
    const store = () => toFile("save", path);
    return this.#calls.add(() =>
      this.#checkpoints.save("save", options, this.#cursor, store, fileOfRankZero),
    );
  }

  async saveBytes(options: SaveOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    const store = () => toBytes;
    return this.#calls.add(() =>
      this.#checkpoints.save("saveBytes", options, this.#cursor, store, bytesOfAll),
    );
  }

  async load(path: string): Promise<Json> {
    return this.#loaded("load", () => fromFile("load", path));
  }

  async loadBytes(bytes: Uint8Array): Promise<Json> {
    return this.#loaded("loadBytes", () => fromBytes("loadBytes", bytes));
  }

  #loaded(what: string, from: () => CheckpointSource): Promise<Json> {
    // Set now and not when it runs: a `fit` called afterwards must wait for it.
    this.#expectNoFeeding(what);
    return this.#calls.add(async () => {
      this.#cursor = await this.#checkpoints.load(what, from);
      return this.#cursor;
    });
  }

  graph(batch: unknown): ByObjective<Graph> {
    this.#calls.expectOpen();
    const feed = this.#take(batch);
    return this.#byObjective(this.#objectives.map((objective) => objective.graph(feed)));
  }

  explain(batch: unknown): ByObjective<CastReport> {
    this.#calls.expectOpen();
    const feed = this.#take(batch);
    return this.#byObjective(this.#objectives.map((objective) => objective.explained(feed).casts));
  }

  /** Waits for pending calls, then frees everything; idempotent. */
  dispose(): Promise<void> {
    return this.#calls.close(() => this.#programs.dispose());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}
