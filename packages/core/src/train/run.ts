import type { Backend, ProfileRow, State } from "../backend.js";
import type { CastReport } from "../cast/explain.js";
import { MpError } from "../errors.js";
import type { Graph } from "../graph/graph.js";
import { checkOptions } from "../options.js";
import type { Precision } from "../precision/presets.js";
import { type PrecisionReport, precisionReport } from "../precision/report/report.js";
import { CallQueue } from "./call-queue.js";
import {
  type CheckpointInfo,
  checkpointOf,
  loadCheckpoint,
  type SaveOptions,
} from "./checkpoint/checkpoint.js";
import { initialState } from "./checkpoint/initial-state.js";
import {
  type CheckpointSource,
  type CheckpointStore,
  fromBytes,
  fromFile,
  toBytes,
  toFile,
} from "./checkpoint/place.js";
import { scalerRules } from "./checkpoint/scaler-rules.js";
import { settingsOf } from "./checkpoint/settings.js";
import { checkFunction } from "./checks/check-parts.js";
import { type FedBatch, feedBatch } from "./data/batch.js";
import type { FitResult, FitStep } from "./data/callback.js";
import { breather } from "./data/event-loop.js";
import { type FitOptions, fit } from "./data/fit.js";
import type { Json } from "./data/json.js";
import { type FeedingOptions, type FeedingRun, stepsOfPass } from "./data/made-steps.js";
import type { TrainingData } from "./data/source.js";
import type { StepDefinition } from "./definition.js";
import { checkDiagnose, type Diagnosis, diagnose, type Inspected } from "./diagnosis/diagnose.js";
import { FunctionIds } from "./program/function-ids.js";
import { outputTree, type Program, type TypeTree } from "./program/program.js";
import { ProgramCache } from "./program/program-cache.js";
import { readPart } from "./state-part.js";
import { metricsIn, numberIn } from "./step/outputs.js";
import {
  evaluateProgram,
  type PredictFunction,
  parametersProgram,
  predictProgram,
  scaleProgram,
} from "./step/programs.js";
import type { Counters, StepResult } from "./step/result.js";
import { isWindowed, Stepper } from "./step/stepper.js";
import type { AllReduce } from "./step/window.js";
import type { TrainingWarning } from "./warning.js";

export interface RunOptions {
  readonly backend: Backend;
  readonly definition: StepDefinition;
  readonly parameters: unknown;
  readonly modelState: unknown;
  readonly allReduce: AllReduce | undefined;
  readonly maxConsecutiveSkips: number;
  readonly signal: AbortSignal | undefined;
  readonly onWarning: (warning: TrainingWarning) => void;
}

/** A training run: the resident state, the programs compiled for it, and one queue of calls. */
export class TrainingRun {
  readonly precision: Precision;
  readonly warnings: TrainingWarning[] = [];
  readonly #definition: StepDefinition;
  readonly #onWarning: (warning: TrainingWarning) => void;
  readonly #warn = (warning: TrainingWarning): void => {
    if (this.warnings.some((known) => known.message === warning.message)) return;
    this.warnings.push(warning);
    this.#onWarning(warning);
  };
  readonly #stateTypes: TypeTree;
  readonly #programs: ProgramCache;
  readonly #stepper: Stepper;
  /** Programs are kept by function, so a closure created in a loop is compiled in every iteration. */
  readonly #predictors = new FunctionIds((id) => {
    if (id < 2) return;
    const message = "predict: a third function is being compiled; pass the same function object each time";
    this.#warn({ type: "performance", message });
  });
  readonly #calls = new CallQueue();
  readonly #breathe: FeedingRun["breathe"];
  readonly #signal: AbortSignal | undefined;
  /** The position in the data that the state is at, if `fit` or `steps` led to it. */
  #cursor: Json = null;
  #isFeeding = false;

  private constructor(options: RunOptions, stateTypes: TypeTree, state: State) {
    const { backend, definition, allReduce, maxConsecutiveSkips, signal } = options;
    this.precision = definition.precision;
    this.#definition = definition;
    this.#onWarning = options.onWarning;
    this.#signal = signal;
    this.#stateTypes = stateTypes;
    this.#programs = new ProgramCache(backend, state, this.#warn);
    this.#breathe = breather(backend.manifest);
    this.#stepper = new Stepper(this.#programs, {
      definition,
      stateTypes,
      allReduce: allReduce && this.#calls.hook("allReduce", allReduce),
      maxConsecutiveSkips,
      signal,
      warn: this.#warn,
      breathe: this.#breathe,
    });
  }

  static async start(options: RunOptions): Promise<TrainingRun> {
    const { backend, definition, allReduce } = options;
    const { types, slots } = await initialState(
      backend,
      definition,
      options,
      isWindowed(definition, allReduce),
    );
    const run = new TrainingRun(options, types, await backend.createState(slots));
    const { warnings = [], lossScaler } = definition.precision;
    try {
      for (const warning of warnings) run.#warn(warning);
      for (const message of lossScaler.warnings ?? []) run.#warn({ type: "numerics", message });
      return run;
    } catch (error) {
      // The caller never gets the run, so it could not dispose it.
      await run.dispose();
      throw error;
    }
  }

  async step(...batches: readonly unknown[]): Promise<StepResult> {
    this.#expectNoFeeding("step");
    const { accumulate } = this.#definition;
    if (batches.length !== accumulate) {
      throw new MpError(
        "MP_INVALID_ARGUMENT",
        accumulate === 1
          ? `step: takes one batch, got ${batches.length}; put named tensors in one object: step({ x, y })`
          : `step: takes ${accumulate} batches (accumulate), got ${batches.length}`,
      );
    }
    // If you call `step` yourself, only you know the position in the data.
    return this.#step(
      batches.map((batch) => this.#take(batch)),
      null,
    );
  }

  #step(feeds: readonly FedBatch[], cursor: Json): Promise<StepResult> {
    return this.#calls.add(() =>
      this.#stepper.step(feeds, () => {
        this.#cursor = cursor;
      }),
    );
  }

  async fit<T>(data: TrainingData<T>, options: FitOptions<string, T> = {}): Promise<FitResult> {
    this.#startFeeding("fit");
    try {
      return await fit(this.#feeding, data, options);
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
    } finally {
      this.#isFeeding = false;
    }
  }

  #startFeeding(what: string): void {
    this.#calls.expectOpen();
    this.#expectNoFeeding(what);
    this.#isFeeding = true;
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
      take: (batch) => this.#take(batch),
      accumulate: this.#definition.accumulate,
      signal: this.#signal,
      iteration: () => this.#calls.add(() => this.#iteration()),
      cursor: () => this.#calls.add(async () => this.#cursor),
      moveTo: (cursor) => {
        this.#cursor = cursor;
      },
      step: (feeds, cursor) => this.#step(feeds, cursor),
      save: (path) => this.save(path),
      breathe: this.#breathe,
      warn: this.#warn,
    };
  }

  async profile(batch: unknown): Promise<readonly ProfileRow[]> {
    this.#expectNoFeeding("profile");
    const feed = this.#take(batch);
    return this.#calls.add(() =>
      this.#stepper.profile(feed, () => {
        this.#cursor = null;
      }),
    );
  }

  peakBytes(): Promise<number | undefined> {
    return this.#calls.add(async () => this.#programs.peakBytes());
  }

  async diagnose(
    batches: readonly unknown[],
    options: { readonly scale?: number } = {},
  ): Promise<Diagnosis | undefined> {
    checkDiagnose(batches, options);
    const feeds = batches.map((batch) => this.#take(batch));
    const isPast = options.scale !== undefined;
    return this.#calls.add(async () => {
      const scale = options.scale ?? (await this.#scale());
      return diagnose(this.#inspected, feeds, { scale, isPast });
    });
  }

  async precisionReport(batch: unknown): Promise<PrecisionReport> {
    const feed = this.#take(batch);
    return this.#calls.add(async () =>
      precisionReport({ ...this.#inspected, ...this.#explained(feed), scale: await this.#scale() }, feed),
    );
  }

  get #inspected(): Inspected {
    return { programs: this.#programs, definition: this.#definition, stateTypes: this.#stateTypes };
  }

  async evaluate(batch: unknown, options: { readonly modelState?: unknown } = {}): Promise<unknown> {
    checkOptions("evaluate", options, { modelState: true }, "{ modelState }");
    const feed = this.#take(batch);
    const model = options.modelState === undefined ? undefined : this.#take(options.modelState, "model");
    return this.#calls.add(async () => {
      const build = (): Program =>
        evaluateProgram(this.#definition, this.#stateTypes, {
          batch: feed.types(),
          ...(model === undefined ? {} : { model: model.types() }),
        });
      const signature = model === undefined ? feed.signature : `${feed.signature} from ${model.signature}`;
      const { executable, outputs } = await this.#programs.compiled("evaluate", signature, build);
      const values = await executable.run({ ...feed.inputs, ...model?.inputs });
      return {
        loss: numberIn(values, "loss"),
        metrics: metricsIn(values),
        modelState: outputTree(outputs["model"], "model", values),
      };
    });
  }

  async predict(predict: PredictFunction, data: unknown): Promise<unknown> {
    checkFunction("predict", predict);
    const feed = this.#take(data, "data");
    return this.#calls.add(async () => {
      const build = (): Program => predictProgram(this.#definition, this.#stateTypes, feed.types(), predict);
      const kind = `predict ${this.#predictors.idOf(predict)}`;
      const { executable, outputs } = await this.#programs.compiled(kind, feed.signature, build);
      return outputTree(outputs["result"], "result", await executable.run(feed.inputs));
    });
  }

  parameters(): Promise<unknown> {
    return this.#calls.add(async () => {
      const build = (): Program => parametersProgram(this.#definition, this.#stateTypes);
      const { executable, outputs } = await this.#programs.compiled("parameters", "", build);
      return outputTree(outputs["parameters"], "parameters", await executable.run({}));
    });
  }

  modelState(): Promise<unknown> {
    return this.#calls.add(() => readPart(this.#programs.state, this.#stateTypes, "model"));
  }

  scalerState(): Promise<unknown> {
    return this.#calls.add(() => readPart(this.#programs.state, this.#stateTypes, "scaler"));
  }

  counters(): Promise<Counters> {
    return this.#calls.add(async () => {
      const values = await this.#programs.state.read(["applied", "iteration", "skipped"]);
      return {
        applied: numberIn(values, "applied"),
        iteration: numberIn(values, "iteration"),
        skipped: numberIn(values, "skipped"),
        scale: await this.#scale(),
      };
    });
  }

  /** The loss scale of the next step. */
  async #scale(): Promise<number> {
    const build = (): Program => scaleProgram(this.#definition, this.#stateTypes);
    const { executable } = await this.#programs.compiled("scale", "", build);
    return numberIn(await executable.run({}), "scale");
  }

  async #iteration(): Promise<number> {
    return numberIn(await this.#programs.state.read(["iteration"]), "iteration");
  }

  async save(path: string, options: SaveOptions = {}): Promise<void> {
    return this.#saved("save", options, toFile("save", path));
  }

  async saveBytes(options: SaveOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return this.#saved("saveBytes", options, toBytes);
  }

  #saved<T>(what: string, options: SaveOptions, store: CheckpointStore<T>): Promise<T> {
    checkOptions(what, options, { cursor: true }, "{ cursor }");
    return this.#calls.add(async () => {
      const { cursor = this.#cursor } = options;
      return store(await checkpointOf(this.#programs.state, this.#info, cursor, `${what}: cursor`));
    });
  }

  async load(path: string): Promise<Json> {
    return this.#loaded("load", fromFile("load", path));
  }

  async loadBytes(bytes: Uint8Array): Promise<Json> {
    return this.#loaded("loadBytes", fromBytes("loadBytes", bytes));
  }

  #loaded(what: string, source: CheckpointSource): Promise<Json> {
    // Set now and not when it runs: a `fit` called afterwards must wait for it.
    this.#expectNoFeeding(what);
    return this.#calls.add(async () => {
      const { backend, state } = this.#programs;
      const rules = scalerRules(backend, this.#definition, this.#stateTypes);
      this.#cursor = await loadCheckpoint(source, state, this.#info, rules, this.#warn);
      return this.#cursor;
    });
  }

  graph(batch: unknown): Graph {
    this.#calls.expectOpen();
    return this.#stepper.program(this.#take(batch)).graph;
  }

  explain(batch: unknown): CastReport {
    this.#calls.expectOpen();
    return this.#explained(this.#take(batch)).casts;
  }

  /** The step for such a batch, and its cast report. */
  #explained(feed: FedBatch): { readonly step: Graph; readonly casts: CastReport } {
    let casts: CastReport | undefined;
    const { graph } = this.#stepper.program(feed, {
      casts: (report) => {
        casts ??= report;
      },
    });
    if (casts === undefined) throw new Error("internal: a step was traced without its casting policy");
    return { step: graph, casts };
  }

  /** Waits for pending calls, then frees everything; idempotent. */
  dispose(): Promise<void> {
    return this.#calls.close(() => this.#programs.dispose());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  get #info(): CheckpointInfo {
    return {
      key: this.#definition.key.path,
      precision: this.precision.name,
      settings: settingsOf(this.#definition),
      weightsAt: this.precision.masterWeights.weightsAt,
    };
  }
}
