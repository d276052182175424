import type { Graph, ProfileRow } from "@mp/graph";
import type { CastReport } from "../../cast/explain.js";
import type { Recipe } from "../../quantize/recipe.js";
import type { FlatBatch } from "../batch/batch.js";
import type { CompiledPrograms } from "../compile/compiled-programs.js";
import type { StepDefinition } from "../definition/definition.js";
import { ownSlot, withObjective } from "../definition/objective-state.js";
import { evaluationIn, numberIn, type Outputs } from "../definition/outputs.js";
import type { Counters, StepResult } from "../definition/result.js";
import { outputTree, type Program } from "../definition/traced-program.js";
import { type Diagnosis, diagnose } from "../diagnosis/diagnose.js";
import type { TracedMetrics } from "../metrics/traced-metrics.js";
import { evaluateProgram } from "../programs/reading-programs.js";
import { scaleProgram } from "../programs/step-programs.js";
import { type PrecisionReport, precisionReport } from "../report/report.js";
import { type Ran, type StepPhase, Stepper, type StepperOptions } from "./stepper.js";

/** One objective of a run: its programs over the run's state. Calls are serialized by the run. */
export class ObjectiveRun {
  readonly definition: StepDefinition;
  readonly #programs: CompiledPrograms;
  readonly #stateTypes: StepperOptions["stateTypes"];
  readonly #stepper: Stepper;

  constructor(programs: CompiledPrograms, options: StepperOptions) {
    this.definition = options.definition;
    this.#programs = programs;
    this.#stateTypes = options.stateTypes;
    this.#stepper = new Stepper(programs, options);
  }

  /**
   * Runs one step of each objective in order; a later objective sees what earlier objectives committed. Calls
   * `onCommitted` when the state is past these batches.
   */
  static async step(
    objectives: readonly ObjectiveRun[],
    feeds: readonly FlatBatch[],
    onCommitted: () => void,
  ): Promise<readonly StepResult[]> {
    const steppers = objectives.map((objective) => objective.#stepper);
    // A loss that cannot be traced is found before an earlier objective commits.
    if (steppers.length > 1) for (const stepper of steppers) await stepper.prepare(feeds);
    const ran: Ran[] = [];
    for (const stepper of steppers) ran.push(await stepper.run(feeds));
    onCommitted();
    const results: StepResult[] = [];
    for (const [at, stepper] of steppers.entries()) results.push(await stepper.report(ran[at] as Ran, feeds));
    return results;
  }

  /** Compiles a step of each objective; returns batch signatures and program hashes, which ranks compare. */
  static async facts(
    objectives: readonly ObjectiveRun[],
    feeds: readonly FlatBatch[],
  ): Promise<{ readonly batch: string; readonly program: string }> {
    for (const objective of objectives) await objective.#stepper.prepare(feeds);
    return {
      batch: feeds.map(({ signature }) => signature).join(" | "),
      program: objectives.flatMap((objective) => objective.#stepper.hashes(feeds)).join(),
    };
  }

  /** Evaluates a batch for each objective; the outputs of the first objective include the statistics of the metrics. */
  static async evaluateAll(
    objectives: readonly ObjectiveRun[],
    [feed, model, average, metrics]: Parameters<ObjectiveRun["runEvaluation"]>,
  ): Promise<readonly Outputs[]> {
    const all: Outputs[] = [];
    for (const [at, objective] of objectives.entries()) {
      const [outputs] = await objective.runEvaluation(feed, model, average, at === 0 ? metrics : undefined);
      all.push(outputs);
    }
    return all;
  }

  /** The phase of the next step. */
  get phase(): StepPhase {
    return this.#stepper.phase;
  }

  /** Reads what the host knows of the state after the state was replaced. */
  refresh(): Promise<void> {
    return this.#stepper.refresh();
  }

  profile(feed: FlatBatch): Promise<readonly ProfileRow[]> {
    return this.#stepper.profile(feed);
  }

  async evaluate(feed: FlatBatch, model: FlatBatch | undefined, average: boolean): Promise<unknown> {
    const [values, outputs] = await this.runEvaluation(feed, model, average);
    return { ...evaluationIn(values), modelState: outputTree(outputs["model"], "model", values) };
  }

  /** Evaluates a batch. Returns the outputs, with the statistics of `metrics` if given, and their types. */
  async runEvaluation(
    feed: FlatBatch,
    model: FlatBatch | undefined,
    average: boolean,
    metrics?: TracedMetrics,
  ): Promise<readonly [Outputs, Program["outputs"]]> {
    const state = { state: this.#stateTypes, average };
    const { definition, suffix } = this.#stepper.phase;
    const build = (): Program =>
      evaluateProgram(
        definition,
        state,
        { batch: feed.types(), ...(model === undefined ? {} : { model: model.types() }) },
        metrics,
      );
    const signature = model === undefined ? feed.signature : `${feed.signature} from ${model.signature}`;
    const what = metrics === undefined ? "evaluate" : `evaluate with metrics ${metrics.id}`;
    const kind = withObjective(definition, average ? `${what} the average` : what) + suffix;
    const { executable, outputs } = await this.#programs.findOrCompile(kind, signature, build);
    return [await executable.run({ ...feed.inputs, ...model?.inputs }), outputs];
  }

  async counters(): Promise<Counters> {
    const [applied, skipped] = [ownSlot(this.definition, "applied"), ownSlot(this.definition, "skipped")];
    const values = await this.#programs.state.read([applied, "iteration", skipped]);
    return {
      applied: numberIn(values, applied),
      iteration: numberIn(values, "iteration"),
      skipped: numberIn(values, skipped),
      scale: await this.#scale(),
    };
  }

  /** The loss scale of the next step. */
  async #scale(): Promise<number> {
    const build = (): Program => scaleProgram(this.definition, this.#stateTypes);
    const { executable } = await this.#programs.findOrCompile(
      withObjective(this.definition, "scale"),
      "",
      build,
    );
    return numberIn(await executable.run({}), "scale");
  }

  async diagnose(feeds: readonly FlatBatch[], scale: number | undefined): Promise<Diagnosis | undefined> {
    const at = { scale: scale ?? (await this.#scale()), isPast: scale !== undefined };
    return diagnose(this.#stepper.inspected, feeds, at);
  }

  async precisionReport(feed: FlatBatch, recipes: readonly Recipe[]): Promise<PrecisionReport> {
    const parts = { ...this.#stepper.inspected, ...this.explain(feed), scale: await this.#scale() };
    return precisionReport(parts, feed, recipes);
  }

  graph(feed: FlatBatch): Graph {
    return this.#stepper.graph(feed);
  }

  /** The graph of the step for this batch, and its cast report. */
  explain(feed: FlatBatch): { readonly step: Graph; readonly casts: CastReport } {
    let casts: CastReport | undefined;
    const { graph } = this.#stepper.program(feed, {
      casts: (report) => {
        casts ??= report;
      },
    });
    if (casts === undefined) throw new Error("internal: a step was traced without its casting policy");
    return { step: graph, casts };
  }
}
