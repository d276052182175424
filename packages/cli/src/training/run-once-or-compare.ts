import type { CommonOptions } from "../common-flags.js";
import { formatComparison, formatRun } from "../format-result.js";
import { type Comparison, compareRuns, type RunResult } from "../result.js";
import type { AppContext } from "../run-app.js";
import { writeResult } from "../write-result.js";
import { plainOptions } from "./plain.js";

interface Evaluated {
  readonly result: RunResult;
}

export interface Runs<O extends CommonOptions, R extends Evaluated> {
  readonly options: O;
  readonly context: AppContext;
  /** Name of the run; default its precision. */
  readonly label?: string;
  /** Flags of the app that differ in the float32 run. */
  readonly plain?: Partial<O>;
  /** Trains once and evaluates the result. */
  readonly run: (options: O, label: string) => Promise<R>;
  /** Returns text to print below the figures. */
  readonly conclude?: (own: R, baseline: R | undefined) => string | undefined;
}

export interface Outcome<R> {
  /** The run that the flags ask for; undefined if Ctrl-C came before it. */
  readonly own: R | undefined;
  readonly result: RunResult | Comparison;
}

/**
 * Trains as the flags say; with `--compare`, first trains in float32 from the same initial state. Prints the
 * results and writes them to the `--json` path. If the second run fails, prints the result of the first.
 */
export async function runOnceOrCompare<O extends CommonOptions, R extends Evaluated>(
  runs: Runs<O, R>,
): Promise<Outcome<R>> {
  const { options, context } = runs;
  const outcome = options.compare ? await runAndCompare(runs) : await once(runs);
  const { json } = options;
  if (json !== undefined) await context.attempt(`--json ${json}`, () => writeResult(json, outcome.result));
  return outcome;
}

async function once<O extends CommonOptions, R extends Evaluated>(runs: Runs<O, R>): Promise<Outcome<R>> {
  const { options, context, label = options.precision, conclude } = runs;
  const own = await runs.run(options, label);
  context.print(formatRun(own.result));
  say(context, conclude?.(own, undefined));
  return { own, result: own.result };
}

async function runAndCompare<O extends CommonOptions, R extends Evaluated>(
  runs: Runs<O, R>,
): Promise<Outcome<R>> {
  const { options, context, label = options.precision, conclude } = runs;
  const { save, resume } = options;
  const beside = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : `${path}.float32`;
  // The page of --report describes the mixed run.
  const files = { save: beside(save), resume: beside(resume), report: undefined };
  const baseline = await runs.run({ ...plainOptions(options, runs.plain), ...files }, "float32");
  if (context.signal.aborted) {
    context.print(formatRun(baseline.result));
    return { own: undefined, result: baseline.result };
  }
  const own = await runs.run(options, label).catch((error: unknown) => {
    context.print(formatRun(baseline.result));
    throw error;
  });
  const comparison = compareRuns(baseline.result, own.result);
  context.print(formatComparison(comparison));
  say(context, conclude?.(own, baseline));
  return { own, result: comparison };
}

function say(context: AppContext, text: string | undefined): void {
  if (text !== undefined) context.print(text);
}
