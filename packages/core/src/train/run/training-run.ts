import type { Graph, HostTensor, MapLeaves, ProfileRow, Tensor, TensorTree, Tree } from "@mp/graph";
import { checkOptions } from "@mp/graph/internal";
import type { CastReport } from "../../cast/explain.js";
import type { Precision } from "../../precision/presets.js";
import type { FitResult } from "../callbacks/callback.js";
import type { Json } from "../callbacks/json.js";
import type { SaveOptions } from "../checkpoint/checkpoint.js";
import { type CheckpointSource, fromBytes, fromFile, toBytes, toFile } from "../checkpoint/file/place.js";
import type { CallQueue } from "../compile/call-queue.js";
import { CompiledPrograms } from "../compile/compiled-programs.js";
import type { AnyEvaluateAllOptions, EvaluateAllMetricsOptions } from "../data/evaluate-all.js";
import { breather } from "../data/event-loop.js";
import { type AnyFitOptions, fit } from "../data/fit.js";
import { type FeedingOptions, stepsOfPass } from "../data/made-steps.js";
import type { TrainingData } from "../data/source.js";
import type { Definitions } from "../definition/definition.js";
import type { Fed, FedBatch, LossContext, Traced } from "../definition/loss.js";
import { byObjective } from "../definition/objective-state.js";
import type { Counters } from "../definition/result.js";
import type { TypeTree } from "../definition/traced-program.js";
import type { PredictFunction } from "../definition/user-function.js";
import type { TrainingWarning } from "../definition/warning.js";
import { checkDiagnose, type Diagnosis } from "../diagnosis/diagnose.js";
import type { StreamedMetrics } from "../metrics/streamed-metric.js";
import { rootMeanSquare } from "../objective/initial-state.js";
import { ObjectiveRun } from "../objective/objective-run.js";
import { expectRates, readRates } from "../objective/set-rates.js";
import { readPart } from "../objective/state-part.js";
import { isWindowed, type StepPhase } from "../objective/stepper.js";
import { eachOnce, objectiveWarnings } from "../objective/warnings.js";
import { WeightsReader } from "../objective/weights-reader.js";
import type { Collective } from "../ranks/collective.js";
import { checkOthers } from "../report/recipe-report.js";
import type { PrecisionReport, ReportOptions } from "../report/report.js";
import { readsAverage, type WeightsChoice } from "../weights/average.js";
import type {
  DatasetEvaluations,
  Each,
  Evaluations,
  MadeStep,
  Some,
  StepResults,
} from "./results-by-objective.js";
import { RunCheckpoints } from "./run-checkpoints.js";
import type { RunOptions } from "./run-options.js";
import { makeRunParts, type RunParts } from "./run-parts.js";
import { RunSteps } from "./run-steps.js";
import type { Trainer } from "./trainer-interface.js";

/** A training run: the resident state, the programs compiled for it, and one queue of calls. */
export class TrainingRun<P, B, M, K extends string, O> implements Trainer<P, B, M, K, O> {
  readonly precision: Precision;
  readonly warnings: TrainingWarning[] = [];
  readonly #definitions: Definitions;
  readonly #objectives: readonly ObjectiveRun[];
  readonly #warn: (warning: TrainingWarning) => void;
  readonly #stateTypes: TypeTree;
  readonly #programs: CompiledPrograms;
  readonly #weights: WeightsReader;
  readonly #calls: CallQueue;
  readonly #collective: Collective;
  readonly #steps: RunSteps;
  /** Gathers the parameters if each rank has only a part of them. */
  readonly #gathered: RunParts["parameters"];
  readonly #checkpoints: RunCheckpoints;

  private constructor(options: RunOptions, made: RunParts) {
    const { backend, maxConsecutiveSkips, checkUpdates, signal } = options;
    const { definitions, types: stateTypes, given, state, kept, calls, collective } = made;
    this.precision = definitions[0].precision;
    this.#definitions = definitions;
    this.#warn = eachOnce(options.onWarning, this.warnings);
    this.#stateTypes = stateTypes;
    this.#calls = calls;
    this.#collective = collective;
    const programs = new CompiledPrograms(backend, state, options.programs * definitions.length, this.#warn);
    this.#programs = programs;
    const phase = (): StepPhase => (this.#objectives[0] as ObjectiveRun).phase;
    this.#weights = new WeightsReader(programs, phase, stateTypes, this.#warn);
    const breathe = breather(backend.manifest);
    this.#gathered = made.parameters;
    const warnings = objectiveWarnings(definitions, this.#warn);
    this.#objectives = definitions.map(
      (definition, at) =>
        new ObjectiveRun(programs, {
          definition,
          stateTypes,
          initialSize: rootMeanSquare(options.parameters, definition.frozen),
          reduction: collective.reduction(),
          maxConsecutiveSkips,
          checkUpdates,
          // A step cannot be aborted once an earlier objective has committed, or if several ranks make it together.
          signal: at === 0 && collective.place.size === 1 ? signal : undefined,
          warn: warnings(definition),
          breathe,
        }),
    );
    const parts = { programs, collective, warn: this.#warn };
    this.#steps = new RunSteps({
      ...parts,
      definitions,
      objectives: this.#objectives,
      calls,
      signal,
      training: this,
      breathe,
    });
    this.#checkpoints = new RunCheckpoints({ ...parts, ...kept, stateTypes, given }, this.#steps);
  }

  static async start<P, B, M, K extends string, O>(options: RunOptions): Promise<TrainingRun<P, B, M, K, O>> {
    const made = await makeRunParts(options);
    const run = new TrainingRun<P, B, M, K, O>(options, made);
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

  async step(...batches: readonly unknown[]): Promise<StepResults<K, O>> {
    return (await this.#steps.stepOn(batches)) as StepResults<K, O>;
  }

  #byObjective<T>(values: readonly T[]): Each<O, T> {
    return byObjective(this.#definitions, values) as Each<O, T>;
  }

  /** Calls `ask` with each objective in turn, after earlier calls. */
  #eachInTurn<T>(ask: (objective: ObjectiveRun) => Promise<T>): Promise<Each<O, T>> {
    return this.#calls.add(async () => {
      const answers: T[] = [];
      for (const objective of this.#objectives) answers.push(await ask(objective));
      return this.#byObjective(answers);
    });
  }

  async fit<T>(data: TrainingData<T>, options: AnyFitOptions<T> = {}): Promise<FitResult> {
    this.#steps.enter("fit");
    try {
      return await fit(this.#steps, data, options);
    } catch (error) {
      throw await this.#steps.tellError(error);
    } finally {
      this.#steps.leave();
    }
  }

  async *steps<D extends FedBatch<B, D>>(
    data: TrainingData<D>,
    options: FeedingOptions = {},
  ): AsyncGenerator<MadeStep<K, O, D>, undefined> {
    this.#steps.enter("steps");
    try {
      const made: AsyncGenerator<unknown, undefined> = stepsOfPass(this.#steps, data, options);
      yield* made as AsyncGenerator<MadeStep<K, O, D>, undefined>;
    } catch (error) {
      throw await this.#steps.tellError(error);
    } finally {
      this.#steps.leave();
    }
  }

  async profile(batch: unknown): Promise<Each<O, readonly ProfileRow[]>> {
    this.#steps.expectIdle("profile");
    const feed = this.#steps.take(batch);
    return this.#eachInTurn(async (objective) => {
      this.#steps.drawLimit.forget();
      const rows = await objective.profile(feed);
      if (!isWindowed(this.#definitions[0], this.#collective.isReduced)) this.#steps.moveTo(null);
      return rows;
    });
  }

  peakBytes(): Promise<number | undefined> {
    return this.#calls.add(async () => this.#programs.peakBytes());
  }

  async diagnose(
    batches: readonly unknown[],
    options: { readonly scale?: Some<O, number> } = {},
  ): Promise<Each<O, Diagnosis | undefined>> {
    const scaleOf = checkDiagnose(batches, options, this.#definitions);
    const feeds = batches.map((batch) => this.#steps.take(batch));
    return this.#eachInTurn((objective) => objective.diagnose(feeds, scaleOf(objective.definition)));
  }

  async precisionReport(batch: unknown, options: ReportOptions = {}): Promise<Each<O, PrecisionReport>> {
    checkOptions("precisionReport", options, { recipes: true }, "{ recipes: [mxfp8().recipe] }");
    const { recipes = [] } = options;
    checkOthers("precisionReport: recipes", recipes);
    const feed = this.#steps.take(batch);
    return this.#eachInTurn((objective) => objective.precisionReport(feed, recipes));
  }

  async evaluate(
    batch: unknown,
    options: WeightsChoice & { readonly modelState?: unknown } = {},
  ): Promise<Evaluations<K, O, M>> {
    checkOptions("evaluate", options, { modelState: true, weights: true }, "{ modelState }");
    const average = readsAverage("evaluate", options, this.#definitions[0].ema);
    const feed = this.#steps.take(batch);
    const model =
      options.modelState === undefined ? undefined : this.#steps.take(options.modelState, "model");
    const evaluated = await this.#eachInTurn((objective) => objective.evaluate(feed, model, average));
    return evaluated as Evaluations<K, O, M>;
  }

  async evaluateAll<T, const S extends StreamedMetrics>(
    data: TrainingData<T>,
    options: EvaluateAllMetricsOptions<P, B, M, T, S> = {},
  ): Promise<DatasetEvaluations<K, O, S>> {
    const evaluated = this.#steps.evaluateAll(data, options as unknown as AnyEvaluateAllOptions<T>);
    return (await evaluated) as DatasetEvaluations<K, O, S>;
  }

  async predict<D, R extends TensorTree>(
    predict: (parameters: Traced<P>, data: D, context: LossContext<Traced<M>>) => R,
    data: Fed<D>,
    options: WeightsChoice = {},
  ): Promise<MapLeaves<R, Tensor, HostTensor>> {
    const run = this.#weights.predictor(predict as unknown as PredictFunction, options);
    const feed = this.#steps.take(data, "data");
    return this.#calls.add(() => run(feed)) as Promise<MapLeaves<R, Tensor, HostTensor>>;
  }

  async parameters(options: WeightsChoice = {}): Promise<P> {
    const read = this.#weights.parameters(options);
    return this.#calls.add(this.#gathered ?? read) as Promise<P>;
  }

  modelState(): Promise<M> {
    return this.#calls.add(() => readPart(this.#programs.state, this.#stateTypes, "model")) as Promise<M>;
  }

  scalerState(): Promise<Tree<HostTensor>> {
    return this.#calls.add(() => readPart(this.#programs.state, this.#stateTypes, "scaler"));
  }

  rates(): Promise<Each<O, Readonly<Record<string, number>>>> {
    const read = this.#calls.add(() => readRates(this.#programs.state, this.#stateTypes));
    return read as Promise<Each<O, Readonly<Record<string, number>>>>;
  }

  async setRates(rates: unknown): Promise<void> {
    const values = expectRates(this.#definitions, rates);
    return this.#calls.add(async () => {
      await this.#programs.state.write(values);
      this.#collective.ratesSet(values);
    });
  }

  counters(): Promise<Each<O, Counters>> {
    return this.#eachInTurn((objective) => objective.counters());
  }

  async save(path: string, options: SaveOptions = {}): Promise<void> {
    return this.#calls.add(() => this.#checkpoints.save("save", options, toFile("save", path)));
  }

  async saveBytes(options: SaveOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return this.#calls.add(() => this.#checkpoints.save("saveBytes", options, toBytes));
  }

  async load(path: string): Promise<Json> {
    return this.#load("load", fromFile("load", path));
  }

  async loadBytes(bytes: Uint8Array): Promise<Json> {
    return this.#load("loadBytes", fromBytes("loadBytes", bytes));
  }

  /** For callbacks: unlike `load`, it may be called during `fit`, whose position stays. */
  async loadWeights(path: string): Promise<void> {
    return this.#calls.add(() => this.#checkpoints.loadWeights(fromFile("loadWeights", path)));
  }

  #load(what: string, source: CheckpointSource): Promise<Json> {
    // The check is made now, not when the load runs: a `fit` that is called later must wait for the load.
    this.#steps.expectIdle(what);
    return this.#calls.add(() => this.#checkpoints.load(what, source));
  }

  graph(batch: unknown): Each<O, Graph> {
    this.#calls.expectOpen();
    const feed = this.#steps.take(batch);
    return this.#byObjective(this.#objectives.map((objective) => objective.graph(feed)));
  }

  explain(batch: unknown): Each<O, CastReport> {
    this.#calls.expectOpen();
    const feed = this.#steps.take(batch);
    return this.#byObjective(this.#objectives.map((objective) => objective.explain(feed).casts));
  }

  /** Waits for pending calls, then frees everything; idempotent. */
  dispose(): Promise<void> {
    return this.#calls.close(() => this.#programs.dispose());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}
