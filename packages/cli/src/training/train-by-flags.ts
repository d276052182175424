/** Trains an app once, or many times for a table, as its flags ask. */
import { type Flag, flagName, toggle } from "../flag.js";
import type { RunResult } from "../result.js";
import { type AblatedOptions, ablate } from "./ablation.js";
import { type Kind, refuseBeside, refuseLoneSeeds, type SeededOptions, seedsFlag } from "./over-seeds.js";
import { precisionTable } from "./precision-table.js";
import { onEngine, type Run } from "./run.js";
import { type Runs, runOnceOrCompare } from "./run-once-or-compare.js";
import { type ManyRuns, trainMany } from "./train-many.js";

/** The flags of an app that prints tables of many runs. */
export const tableFlags: {
  readonly halfReductions: Flag<boolean>;
  readonly table: Flag<boolean>;
  readonly ablation: Flag<boolean>;
  readonly seeds: Flag<number | undefined>;
} = {
  halfReductions: toggle({ help: "sums, softmax and normalization in the half as well" }),
  table: toggle({ help: "train in float32 and both mixed precisions, and print the table" }),
  ablation: toggle({
    help: "train with each technique of mixed precision off in turn, and print the table",
  }),
  seeds: seedsFlag("--table and --ablation"),
};

/** Flags of a single run, which make no sense if many are trained. */
export const ONE_RUN_FLAGS = ["compare", "save", "resume", "report", "halfReductions"] as const;

/**
 * Refuses flags of `single` together with a flag of `many`, two flags of `many`, and `--seeds` without any of `many`.
 * @throws UsageError naming the flags
 */
export function refuseOneRunFlags<O extends SeededOptions>(
  options: O,
  {
    many,
    single,
  }: { readonly many: readonly (keyof O & string)[]; readonly single: readonly (keyof O & string)[] },
): void {
  for (const name of many) {
    const isGiven = options[name] !== undefined && options[name] !== false;
    if (isGiven)
      refuseBeside(flagName(name), options, [...single, ...many.filter((other) => other !== name)]);
  }
  refuseLoneSeeds(options, many);
}

export interface TrainByFlags<
  O extends AblatedOptions,
  R extends { readonly result: RunResult },
  K extends Kind<O>,
> extends Omit<Runs<O, R>, "run"> {
  /** Trains once, on the engine of the flags, and evaluates the result. */
  readonly run: (run: Run<O>) => Promise<R>;
  /** Formats a value of the metric for the tables. */
  readonly show: (value: number) => string;
  /** The table that `--table` prints; by default that of `precisionTable`. */
  readonly table?: Pick<ManyRuns<O, K, R>, "kinds" | "format" | "entry">;
}

/** Trains once, or many times for `--ablation` or `--table`; prints the results and writes the `--json` file. */
export async function trainByFlags<
  O extends AblatedOptions & { readonly table: boolean; readonly ablation: boolean },
  R extends { readonly result: RunResult },
  K extends Kind<O> = Kind<O>,
>(parts: TrainByFlags<O, R, K>): Promise<void> {
  const { options, context, show, table } = parts;
  const run = onEngine(context, parts.run);
  if (options.ablation) return await ablate({ options, context, run, show });
  if (!options.table) await runOnceOrCompare({ ...parts, run });
  else if (table === undefined) await precisionTable({ options, context, run, show });
  else await trainMany({ options, context, run, name: "table", ...table });
}
