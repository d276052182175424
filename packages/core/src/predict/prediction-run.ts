import type { Backend, Graph } from "@mp/graph";
import type { Precision } from "../precision/presets.js";
import { type FlatBatch, feedBatch } from "../train/batch/batch.js";
import { CallQueue } from "../train/compile/call-queue.js";
import { CompiledPrograms, KEPT_PROGRAMS } from "../train/compile/compiled-programs.js";
import { outputTree, type Program } from "../train/definition/traced-program.js";
import type { TrainingWarning } from "../train/definition/warning.js";
import { eachOnce } from "../train/objective/warnings.js";
import { type KeptWeights, keepWeights } from "./kept-weights.js";
import { type Served, serveProgram } from "./served-program.js";

export interface PredictionOptions {
  readonly backend: Backend;
  readonly served: Served;
  readonly params: unknown;
  readonly modelState: unknown;
  readonly onWarning: (warning: TrainingWarning) => void;
}

/** Kept weights, the programs compiled for them, and one queue of calls. */
export class PredictionRun {
  readonly precision: Precision;
  readonly warnings: TrainingWarning[] = [];
  readonly #served: Served;
  readonly #types: KeptWeights["types"];
  readonly #programs: CompiledPrograms;
  readonly #calls = new CallQueue("predictor");
  readonly #warn: PredictionOptions["onWarning"];

  private constructor(
    { backend, served, onWarning }: PredictionOptions,
    types: KeptWeights["types"],
    state: Awaited<ReturnType<Backend["createState"]>>,
  ) {
    this.precision = served.precision;
    this.#served = served;
    this.#types = types;
    this.#warn = eachOnce(onWarning, this.warnings);
    this.#programs = new CompiledPrograms(backend, state, KEPT_PROGRAMS, this.#warn);
  }

  static async start(options: PredictionOptions): Promise<PredictionRun> {
    const { backend, served } = options;
    const { types, slots } = await keepWeights(backend, served.precision, options);
    const run = new PredictionRun(options, types, await backend.createState(slots, { constant: true }));
    try {
      for (const warning of served.precision.warnings ?? []) run.#warn(warning);
      return run;
    } catch (error) {
      // The caller never gets the run, so it could not dispose it.
      await run.dispose();
      throw error;
    }
  }

  async predict(data: unknown): Promise<unknown> {
    this.#calls.expectOpen();
    const feed = this.#take(data);
    return this.#calls.add(async () => {
      const build = (): Program => this.#program(feed);
      const { executable, outputs } = await this.#programs.findOrCompile("predict", feed.signature, build);
      return outputTree(outputs["result"], "result", await executable.run(feed.inputs));
    });
  }

  graph(data: unknown): Graph {
    this.#calls.expectOpen();
    return this.#program(this.#take(data)).graph;
  }

  peakBytes(): Promise<number | undefined> {
    return this.#calls.add(async () => this.#programs.peakBytes());
  }

  /** Waits for pending calls, then frees everything; idempotent. */
  dispose(): Promise<void> {
    return this.#calls.close(() => this.#programs.dispose());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  #take(data: unknown): FlatBatch {
    return feedBatch(data, "data", this.#programs.adopt);
  }

  #program(feed: FlatBatch): Program {
    return serveProgram(this.#served, this.#types, feed.types());
  }
}
