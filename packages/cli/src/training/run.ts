/** One training run of an app. The common flags decide everything here, so that the app writes only its own part. */
import type { Backend, Precision } from "@mp/core";
import { type Graph, graphCost } from "@mp/core/graph";
import type { CommonOptions, OnOverflow } from "../common-flags.js";
import { outputProblem } from "../paths.js";
import { type AppContext, UsageError } from "../run-app.js";
import { onBackend } from "./backend.js";
import { firstBatch } from "./first-batch.js";
import { withHalfReductions } from "./half-reductions.js";
import { precisionOf } from "./precision.js";

/** A run on an open engine. `fitByFlags` and `resultOf` take an object with its members. */
export interface Run<O extends CommonOptions> {
  readonly options: O;
  /** Name of the run in progress bars, reports and files. */
  readonly label: string;
  readonly context: AppContext;
  readonly backend: Backend;
}

/** Opens the engine that the flags name, calls the function that trains, and closes the engine when it has ended. */
export function onEngine<O extends CommonOptions, R>(
  context: AppContext,
  train: (run: Run<O>) => Promise<R>,
  threads?: number,
): (options: O, label: string) => Promise<R> {
  return (options, label) =>
    onBackend(options, (backend) => train({ options, label, context, backend }), threads);
}

/** Options of a trainer that the common flags decide. */
export interface SharedTrainerOptions {
  readonly backend: Backend;
  readonly precision: Precision;
  readonly seed: number;
  readonly accumulate: number;
  readonly onOverflow: OnOverflow;
  readonly signal?: AbortSignal;
}

/**
 * The trainer's options as the flags give them, with `--half-reductions` in apps that have it.
 * @throws UsageError for master weights or reductions that need a half dtype, if the precision has none
 */
export function trainerOptions(run: {
  readonly options: CommonOptions & { readonly halfReductions?: boolean };
  readonly backend: Backend;
  readonly context?: Pick<AppContext, "signal">;
}): SharedTrainerOptions {
  const { backend, context } = run;
  const { seed, accumulate, onOverflow, halfReductions = false } = run.options;
  const given = precisionOf(run.options, backend.manifest);
  const precision = halfReductions ? withHalfReductions(given) : given;
  return { backend, precision, seed, accumulate, onOverflow, ...(context && { signal: context.signal }) };
}

/** Floating-point operations of a microbatch, forward and backward. */
export async function stepFlops<B>(
  training: { graph(batch: B): Graph },
  batches: AsyncIterable<B>,
): Promise<number> {
  return graphCost(training.graph(await firstBatch(batches))).flops;
}

/** Refuses a path at which a flag's file or directory could not be written, before training starts. @throws UsageError */
export function refuseOutput(flag: string, path: string | undefined, wanted: "file" | "directory"): void {
  const problem = path === undefined ? undefined : outputProblem(flag, path, wanted);
  if (problem !== undefined) throw new UsageError(problem);
}

/** Refuses `--data` in an app that generates its data. @throws UsageError */
export function refuseData({ data }: CommonOptions, reason: string): void {
  if (data !== undefined) throw new UsageError(`--data ${data}: ${reason}, leave it out`);
}
