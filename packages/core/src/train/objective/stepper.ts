import { type Graph, leavesOf, MpError, type ProfileRow } from "@mp/graph";
import { unsupportedReason } from "@mp/graph/backend";
import { invalid } from "@mp/graph/internal";
import type { CastReport } from "../../cast/explain.js";
import { lowDType } from "../../cast/policy.js";
import { batchDifferences, type FlatBatch } from "../batch/batch.js";
import type { Compiled, CompiledPrograms } from "../compile/compiled-programs.js";
import { programHash } from "../compile/program-hash.js";
import type { StepDefinition } from "../definition/definition.js";
import { ofObjective, withObjective } from "../definition/objective-state.js";
import { averageOutputs, flagIn, metricsIn, numberIn, type Outputs, ratesIn } from "../definition/outputs.js";
import type { StepResult } from "../definition/result.js";
import { isValueType } from "../definition/state.js";
import { feedName, type Program, type TypeTree } from "../definition/traced-program.js";
import type { TrainingWarning } from "../definition/warning.js";
import { type Attribution, formatAttribution, scaleAttribution } from "../diagnosis/attribution.js";
import { beyondHalf } from "../diagnosis/beyond-half.js";
import { firstNonFinite } from "../diagnosis/diagnose.js";
import { stateBelowRange } from "../diagnosis/state-below-range.js";
import type { TraceReports } from "../programs/forward.js";
import { scaleFault } from "../programs/scale.js";
import { accumulateProgram, applyProgram, trainProgram, verdictProgram } from "../programs/step-programs.js";
import { resetWindow, type WindowReduction } from "./window.js";

export interface StepperOptions {
  readonly definition: StepDefinition;
  readonly stateTypes: TypeTree;
  /** The reduction over processes, if there are several. */
  readonly reduction: WindowReduction | undefined;
  readonly maxConsecutiveSkips: number;
  /** Aborts an unfinished step between two microbatches. */
  readonly signal: AbortSignal | undefined;
  readonly warn: (warning: TrainingWarning) => void;
  /** Gives the event loop a turn when one is due. */
  readonly breathe: () => Promise<void> | undefined;
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
  readonly #windowed: boolean;
  /** Kind of the program that takes a batch: a whole step, or one microbatch. */
  readonly #kind: string;
  /** Hashes of the compiled programs by batch signature; kept if other ranks compare them. */
  readonly #hashes = new Map<string, string>();
  #hasSearchedData = false;
  #hasWarnedOfState = false;
  /** Inputs of the last batch that compiled. A batch that fails is compared with them. */
  #accepted: FlatBatch["inputs"] | undefined;

  constructor(programs: CompiledPrograms, options: StepperOptions) {
    this.#programs = programs;
    this.#options = options;
    this.#windowed = isWindowed(options.definition, options.reduction !== undefined);
    this.#kind = withObjective(options.definition, this.#windowed ? "accumulate" : "step");
  }

  /** Compiles the programs that `run` needs for these batches. */
  async prepare(feeds: readonly FlatBatch[]): Promise<void> {
    for (const feed of feeds) await this.#pass(feed);
    if (this.#windowed) await this.#apply();
  }

  /** A hash of each program that `prepare` has compiled for these batches, the same on all ranks. */
  hashes(feeds: readonly FlatBatch[]): readonly (string | undefined)[] {
    return [...feeds.map(({ signature }) => signature), APPLY].map((signature) =>
      this.#hashes.get(signature),
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
      if (!flagIn(outputs, "again")) return { outputs, retries };
    }
  }

  /** Reports a step that was run. @throws MP_NON_FINITE after too many skips in a row */
  async report({ outputs, retries }: Ran, feeds: readonly FlatBatch[]): Promise<StepResult> {
    const applied = flagIn(outputs, "applied");
    if (applied) this.#warnOfState(outputs);
    else {
      this.#warnOfScale(outputs);
      await this.#warnOfData(outputs, feeds);
      await this.#checkSkips(outputs, feeds);
    }
    return {
      loss: numberIn(outputs, "loss"),
      applied,
      scale: numberIn(outputs, "scale"),
      gradNorm: numberIn(outputs, "gradNorm"),
      rates: ratesIn(outputs, this.#options.definition.optimizer),
      metrics: metricsIn(outputs),
      retries,
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

  program(feed: FlatBatch, reports?: TraceReports): Program {
    const { definition, stateTypes } = this.#options;
    const build = this.#windowed ? accumulateProgram : trainProgram;
    return build(definition, stateTypes, feed.types(), reports);
  }

  async #runWhole(feed: FlatBatch): Promise<Outputs> {
    const { executable } = this.#known(feed) ?? (await this.#compile(feed));
    return executable.run(feed.inputs);
  }

  #known(feed: FlatBatch): Compiled | undefined {
    return this.#programs.find(this.#kind, feed.signature);
  }

  /** The compiled program for a batch. */
  async #pass(feed: FlatBatch): Promise<Compiled> {
    return this.#known(feed) ?? this.#compile(feed);
  }

  #apply(): Promise<Compiled> {
    const { definition, stateTypes } = this.#options;
    return this.#programs.findOrCompile(withObjective(definition, "apply"), APPLY, () =>
      this.#hashed(APPLY, applyProgram(definition, stateTypes)),
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

  /** Sums the verdicts of all ranks on their parts of a divided update. */
  async #verdict(): Promise<Outputs> {
    const { definition, stateTypes, reduction } = this.#options;
    if (definition.shard?.isJudged !== true || reduction?.judge === undefined) return {};
    const { executable } = await this.#programs.findOrCompile(
      withObjective(definition, "verdict"),
      APPLY,
      () => verdictProgram(definition, stateTypes),
    );
    const verdict = await reduction.judge(numberIn(await executable.run({}), "verdict"));
    return { verdict: { dtype: "f32", shape: [], data: Float32Array.of(verdict) } };
  }

  #hashed(signature: string, program: Program): Program {
    const { rank, shard } = this.#options.definition;
    // Ranks apply different parts of a divided update.
    if (rank !== undefined && (shard === undefined || signature !== APPLY))
      this.#hashes.set(signature, programHash(program.graph));
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
      const compiled = await this.#programs.findOrCompile(this.#kind, feed.signature, () =>
        this.#hashed(feed.signature, this.program(feed, reports)),
      );
      this.#accepted = feed.inputs;
      return compiled;
    } catch (error) {
      const compared = this.#accepted === undefined ? error : compareFeeds(this.#accepted, feed, error);
      throw ofObjective(this.#options.definition, compared);
    }
  }

  #warnOfScale(outputs: Outputs): void {
    const { definition, warn } = this.#options;
    const fault = scaleFault(definition.precision.lossScaler, numberIn(outputs, "scale"));
    if (fault !== undefined) warn({ type: "numerics", message: fault });
  }

  /** Warns at the first step that leaves optimizer state below the range of its format. */
  #warnOfState(outputs: Outputs): void {
    const warning = this.#hasWarnedOfState ? undefined : stateBelowRange(outputs);
    if (warning === undefined) return;
    this.#hasWarnedOfState = true;
    this.#options.warn(warning);
  }

  /** Warns at the first skipped step whose batch has numbers that overflow in the half. */
  async #warnOfData(outputs: Outputs, feeds: readonly FlatBatch[]): Promise<void> {
    const { definition, warn } = this.#options;
    const half = lowDType(definition.precision.policy);
    if (this.#hasSearchedData || half === undefined) return;
    // The search is compiled only where there is a number to be found.
    const isSuspect = ({ inputs }: FlatBatch): boolean =>
      beyondHalf(inputs, Object.keys(inputs), half) !== undefined;
    if (!feeds.some(isSuspect)) return;
    this.#hasSearchedData = true;
    const { culprit, attribution } = await this.#culprit(
      feeds,
      numberIn(outputs, "scale"),
      `loss ${numberIn(outputs, "loss")}`,
    );
    if (attribution?.op === "Cast" && attribution.phase === "forward")
      warn({ type: "data", message: `${withObjective(definition, "step")}: was skipped, ${culprit}` });
  }

  async #checkSkips(outputs: Outputs, feeds: readonly FlatBatch[]): Promise<void> {
    const skips = numberIn(outputs, "consecutiveSkips");
    if (skips <= this.#options.maxConsecutiveSkips) return;
    const [loss, gradNorm, scale] = ["loss", "gradNorm", "scale"].map((name) => numberIn(outputs, name));
    const atFault = scaleAttribution(this.#options.definition.precision.lossScaler, scale as number);
    const { culprit, ...found } =
      atFault === undefined
        ? await this.#culprit(
            feeds,
            scale as number,
            `loss ${loss}, gradient norm ${gradNorm} and scale ${scale}`,
          )
        : { culprit: `first in ${formatAttribution(atFault)}`, attribution: atFault };
    throw new MpError(
      "MP_NON_FINITE",
      `${withObjective(this.#options.definition, "step")}: ${skips} steps in a row were not finite and were skipped, ${culprit}`,
      { details: { skips, loss, gradNorm, scale, attribution: found.attribution }, cause: found.cause },
    );
  }

  /** Names the first non-finite value of the step. Does not throw, even if the engine cannot run the search. */
  async #culprit(
    feeds: readonly FlatBatch[],
    scale: number,
    known: string,
  ): Promise<{ readonly culprit: string; readonly attribution?: Attribution; readonly cause?: unknown }> {
    const { definition, stateTypes } = this.#options;
    const inspected = { programs: this.#programs, definition, stateTypes };
    try {
      const found = await firstNonFinite(inspected, feeds, { scale, isPast: true });
      if (found === undefined) return { culprit: "each of its batches is finite by itself" };
      const { attribution } = found;
      return { culprit: `first in ${formatAttribution(attribution)}`, attribution };
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      return { culprit: `the last with ${known}; where it began could not be found: ${reason}`, cause };
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
