import { type Graph, leavesOf, MpError, type ProfileRow } from "@mp/graph";
import { unsupportedReason } from "@mp/graph/backend";
import { invalid } from "@mp/graph/internal";
import type { CastReport } from "../../cast/explain.js";
import { phasesOf } from "../../quantize/recipes-by-step.js";
import { batchDifferences, type FlatBatch } from "../batch/batch.js";
import type { Compiled, CompiledPrograms } from "../compile/compiled-programs.js";
import { programHash } from "../compile/program-hash.js";
import type { StepDefinition } from "../definition/definition.js";
import { ofObjective, ownSlot, withObjective } from "../definition/objective-state.js";
import {
  averageOutputs,
  flagIn,
  metricsIn,
  numberIn,
  type Outputs,
  ratesIn,
  WEIGHT,
  weightIn,
} from "../definition/outputs.js";
import type { StepResult } from "../definition/result.js";
import { isValueType } from "../definition/state.js";
import { feedName, type Program } from "../definition/traced-program.js";
import type { Inspected } from "../diagnosis/replay.js";
import type { TraceReports } from "../programs/forward.js";
import { accumulateProgram, applyProgram, trainProgram, verdictProgram } from "../programs/step-programs.js";
import { type ReviewOptions, StepReview } from "./step-review.js";
import { resetWindow, type WindowReduction } from "./window-reduction.js";

export interface StepperOptions extends ReviewOptions {
  /** The reduction over processes, if there are several. */
  readonly reduction: WindowReduction | undefined;
  /** Aborts an unfinished step between two microbatches. */
  readonly signal: AbortSignal | undefined;
  /** Yields to the event loop if it has waited long enough; otherwise returns undefined. */
  readonly breathe: () => Promise<void> | undefined;
}

/** The definition of steps from a count of applied steps on, with the one recipe that they have. */
export interface StepPhase {
  readonly from: number;
  readonly definition: StepDefinition;
  /** What tells the phase's programs from those of other phases; empty if there is one phase. */
  readonly suffix: string;
}

/** The phases of a definition: one for each recipe that its precision has. */
function stepPhases(definition: StepDefinition): readonly StepPhase[] {
  const phases = phasesOf(definition.precision.recipe);
  return phases.map(({ from, recipe }) => {
    const { recipe: _all, ...precision } = definition.precision;
    return {
      from,
      definition: { ...definition, precision: recipe === undefined ? precision : { ...precision, recipe } },
      suffix: phases.length === 1 ? "" : ` with ${recipe?.name ?? "no recipe"} from ${from}`,
    };
  });
}

/** Signature of the program that applies a window and is fed no batch. */
const APPLY = "";

/** A step that was run, applied or skipped, before its result is reported. */
export interface Ran {
  readonly outputs: Outputs;
  readonly retries: number;
}

/** Whether a step takes two programs: one that accumulates a microbatch, and one that applies the sums. */
export function isWindowed({ accumulate }: Pick<StepDefinition, "accumulate">, isReduced: boolean): boolean {
  return accumulate > 1 || isReduced;
}

/**
 * Runs the steps of one objective on an engine, one at a time, as one program or as a window of microbatches. Repeats a
 * step whose overflow is retried.
 */
export class Stepper {
  readonly #programs: CompiledPrograms;
  readonly #options: StepperOptions;
  readonly #review: StepReview;
  readonly #windowed: boolean;
  readonly #phases: readonly StepPhase[];
  /** Applied steps, if the steps have phases. */
  #applied = 0;
  /** Hashes of the compiled programs by batch signature; kept if other ranks compare them. */
  readonly #hashes = new Map<string, string>();
  /** Whether the loss returns a weight; undefined until it has been traced. */
  #isWeighted: boolean | undefined;
  /** Inputs of the last batch that compiled. A batch that fails is compared with them. */
  #accepted: FlatBatch["inputs"] | undefined;

  constructor(programs: CompiledPrograms, options: StepperOptions) {
    this.#programs = programs;
    this.#options = options;
    this.#review = new StepReview(programs, options);
    this.#windowed = isWindowed(options.definition, options.reduction !== undefined);
    this.#phases = stepPhases(options.definition);
  }

  get inspected(): Inspected {
    return { ...this.#review.inspected, definition: this.phase.definition };
  }

  /** The phase of the next step. */
  get phase(): StepPhase {
    return this.#phases.findLast(({ from }) => from <= this.#applied) as StepPhase;
  }

  /** Reads the count of applied steps after the state was replaced. */
  async refresh(): Promise<void> {
    const slot = ownSlot(this.#options.definition, "applied");
    if (this.#phases.length > 1) this.#applied = numberIn(await this.#programs.state.read([slot]), slot);
  }

  /** Compiles the programs that `run` needs for these batches. */
  async prepare(feeds: readonly FlatBatch[]): Promise<void> {
    for (const feed of feeds) await this.#pass(feed);
    if (this.#windowed) await this.#apply();
  }

  /** A hash of each program that `prepare` has compiled for these batches, the same on all ranks. */
  hashes(feeds: readonly FlatBatch[]): readonly (string | undefined)[] {
    return [...feeds.map(({ signature }) => signature), APPLY].map((signature) =>
      this.#hashes.get(signature + this.phase.suffix),
    );
  }

  /** Runs the step until it is applied or skipped. The state is then past these batches. */
  async run(feeds: readonly FlatBatch[]): Promise<Ran> {
    const [first] = feeds;
    if (first === undefined) throw new Error("internal: a step without batches");
    this.#options.signal?.throwIfAborted();
    for (let retries = 0; ; retries++) {
      const outputs = this.#windowed ? await this.#runWindow(feeds) : await this.#runWhole(first);
      const due = this.#options.breathe();
      if (due !== undefined) await due;
      if (flagIn(outputs, "again")) continue;
      if (flagIn(outputs, "applied")) this.#applied++;
      return { outputs, retries };
    }
  }

  /** Reports a step that was run. @throws MP_NON_FINITE after too many skips in a row */
  async report({ outputs, retries }: Ran, feeds: readonly FlatBatch[]): Promise<StepResult> {
    const applied = flagIn(outputs, "applied");
    const weight = weightIn(outputs);
    const counts = weight !== 0;
    const due = this.#review.look(outputs, feeds, counts);
    const updates = due === undefined ? undefined : await due;
    const metrics = metricsIn(outputs);
    return {
      loss: counts ? numberIn(outputs, "loss") : Number.NaN,
      applied,
      ...(applied ? {} : { reason: counts ? "not finite" : "no weight" }),
      ...(weight === undefined ? {} : { weight }),
      scale: numberIn(outputs, "scale"),
      gradNorm: numberIn(outputs, "gradNorm"),
      rates: ratesIn(outputs, this.#options.definition.optimizer),
      metrics: counts ? metrics : Object.fromEntries(Object.keys(metrics).map((name) => [name, Number.NaN])),
      retries,
      ...(updates === undefined ? {} : { updates }),
    };
  }

  /**
   * Runs the program for a batch once with the engine's profiler. A whole step commits as usual; a single microbatch
   * is not a step and is discarded.
   */
  async profile(feed: FlatBatch): Promise<readonly ProfileRow[]> {
    const { executable } = await this.#pass(feed);
    if (executable.profile === undefined) {
      const reason = unsupportedReason(this.#programs.backend.manifest.profile) ?? "it has no profiler";
      throw new MpError("MP_UNSUPPORTED", `profile: ${this.#programs.backend.name}: ${reason}`);
    }
    try {
      return await executable.profile(feed.inputs);
    } finally {
      if (this.#windowed) await resetWindow(this.#programs.state);
    }
  }

  /** The graph of the program for a batch: the compiled one, otherwise traced now. */
  graph(feed: FlatBatch): Graph {
    return (this.#known(feed) ?? this.program(feed)).graph;
  }

  program(feed: FlatBatch, reports?: TraceReports, { definition }: StepPhase = this.phase): Program {
    const { stateTypes } = this.#options;
    const build = this.#windowed ? accumulateProgram : trainProgram;
    const program = build(definition, stateTypes, feed.types(), reports);
    const isWeighted = Object.hasOwn(program.outputs, WEIGHT);
    if (this.#isWeighted !== undefined && this.#isWeighted !== isWeighted) {
      throw invalid("loss: must return a weight for all batches or for none; return 1 where all count alike");
    }
    this.#isWeighted = isWeighted;
    return program;
  }

  async #runWhole(feed: FlatBatch): Promise<Outputs> {
    const { executable } = this.#known(feed) ?? (await this.#compile(feed));
    return executable.run(feed.inputs);
  }

  #known(feed: FlatBatch): Compiled | undefined {
    return this.#programs.find(this.#kind(this.phase), feed.signature);
  }

  /** Kind of a phase's program that takes a batch: a whole step, or one microbatch. */
  #kind({ definition, suffix }: StepPhase): string {
    return withObjective(definition, this.#windowed ? "accumulate" : "step") + suffix;
  }

  /** The compiled program for a batch. */
  async #pass(feed: FlatBatch): Promise<Compiled> {
    return this.#known(feed) ?? this.#compile(feed);
  }

  #apply(): Promise<Compiled> {
    const { stateTypes, warn } = this.#options;
    const { definition, suffix } = this.phase;
    return this.#programs.findOrCompile(withObjective(definition, "apply") + suffix, APPLY, () =>
      this.#hashed(
        APPLY,
        suffix,
        applyProgram(definition, stateTypes, this.#isWeighted === true, { warning: warn }),
      ),
    );
  }

  async #runWindow(feeds: readonly FlatBatch[]): Promise<Outputs> {
    const { definition, reduction } = this.#options;
    const programs = this.#programs;
    try {
      const accumulateWindow = async (): Promise<Outputs> => averageOutputs(await this.#accumulate(feeds));
      const metrics =
        reduction === undefined
          ? await accumulateWindow()
          : await reduction.reduce(
              { state: programs.state, of: definition, metrics: await this.#metricNames(feeds) },
              accumulateWindow,
            );
      const { executable } = await this.#apply();
      const outputs = await executable.run(await this.#verdict());
      await reduction?.gather?.(programs.state, outputs);
      return { ...metrics, ...outputs };
    } catch (error) {
      await resetWindow(programs.state).catch((cause: unknown) => {
        throw new AggregateError(
          [error, cause],
          "step: a window failed, and so did throwing away what it had gathered",
        );
      });
      throw error;
    }
  }

  /** Sums the verdicts of all ranks on their parts of a sharded update. */
  async #verdict(): Promise<Outputs> {
    const { definition, stateTypes, reduction } = this.#options;
    if (definition.shard?.isJudged !== true || reduction?.judge === undefined) return {};
    const { executable } = await this.#programs.findOrCompile(
      withObjective(definition, "verdict"),
      APPLY,
      () => verdictProgram(definition, stateTypes, this.#isWeighted === true),
    );
    const verdict = await reduction.judge(numberIn(await executable.run({}), "verdict"));
    return { verdict: { dtype: "f32", shape: [], data: Float32Array.of(verdict) } };
  }

  #hashed(signature: string, suffix: string, program: Program): Program {
    const { rank, shard } = this.#options.definition;
    // Ranks apply different parts of a sharded update.
    if (rank !== undefined && (shard === undefined || signature !== APPLY))
      this.#hashes.set(signature + suffix, programHash(program.graph));
    return program;
  }

  /** Adds the microbatches to the window and returns the metrics of each. */
  async #accumulate(feeds: readonly FlatBatch[]): Promise<readonly Outputs[]> {
    const { signal, breathe } = this.#options;
    const metrics: Outputs[] = [];
    for (const feed of feeds) {
      signal?.throwIfAborted();
      const { executable } = await this.#pass(feed);
      metrics.push(await executable.run(feed.inputs));
      // The code that aborts the signal needs a turn of the event loop.
      const due = breathe();
      if (due !== undefined) await due;
    }
    return metrics;
  }

  /** The output names of the metrics that the program for these batches computes. */
  async #metricNames([first]: readonly FlatBatch[]): Promise<readonly string[]> {
    const { outputs } = await this.#pass(first as FlatBatch);
    return leavesOf(outputs["metrics"] ?? {}, isValueType, "metrics").map(([path]) =>
      feedName("metrics", path),
    );
  }

  async #compile(feed: FlatBatch): Promise<Compiled> {
    const { warn } = this.#options;
    const warnOfLints = ({ lints }: CastReport): void => {
      for (const { message, remedy } of lints) warn({ type: "numerics", message: `${message}; ${remedy}` });
    };
    const reports = this.#accepted === undefined ? { casts: warnOfLints, warning: warn } : { warning: warn };
    try {
      const { phase } = this;
      let own: Compiled | undefined;
      // Programs of later phases are compiled now, so that no later step waits for one.
      for (const each of this.#phases.filter(({ from }) => from >= phase.from)) {
        const compiled = await this.#programs.findOrCompile(this.#kind(each), feed.signature, () =>
          this.#hashed(feed.signature, each.suffix, this.program(feed, reports, each)),
        );
        own ??= compiled;
      }
      this.#accepted = feed.inputs;
      return own as Compiled;
    } catch (error) {
      const compared = this.#accepted === undefined ? error : compareFeeds(this.#accepted, feed, error);
      throw ofObjective(this.#options.definition, compared);
    }
  }
}

/** Adds to an error how the batch differs from earlier ones. */
function compareFeeds(before: FlatBatch["inputs"], feed: FlatBatch, error: unknown): unknown {
  const differences = batchDifferences(before, feed.inputs);
  if (differences.length === 0) return error;
  const unlike = `unlike the batches before, ${differences.join("; ")}`;
  if (MpError.is(error)) {
    const details = { ...error.details, differences };
    return new MpError(error.code, `${error.message}; ${unlike}`, { details, cause: error });
  }
  // A loss that reads a missing value fails with an error of JavaScript.
  if (!(error instanceof TypeError)) return error;
  return invalid(`loss: ${error.message}; ${unlike}`, {
    details: { differences },
    cause: error,
  });
}
