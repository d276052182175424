import type { RunResult } from "../result.js";
import type { AppContext } from "../run-app.js";
import { writeResult } from "../write-result.js";
import { type Finished, type Kind, overSeeds, type SeededOptions } from "./over-seeds.js";

export interface ManyRuns<
  O extends SeededOptions,
  K extends Kind<O>,
  R extends { readonly result: RunResult },
> {
  readonly options: O;
  readonly context: AppContext;
  readonly kinds: readonly K[];
  readonly run: (options: O, label: string, kind: K) => Promise<R>;
  /** Formats the table of the finished kinds. */
  readonly format: (kinds: readonly Finished<K, R>[]) => string;
  /** Name of the table in the `--json` file, which also holds all runs. */
  readonly name: string;
  /** The table's entry for one kind. */
  readonly entry: (kind: Finished<K, R>) => Readonly<Record<string, unknown>>;
}

/** Trains all kinds over the seeds, prints the table, then writes it where `--json` says. */
export async function trainMany<
  O extends SeededOptions,
  K extends Kind<O>,
  R extends { readonly result: RunResult },
>(many: ManyRuns<O, K, R>): Promise<void> {
  const { options, context, name } = many;
  const { json } = options;
  const { kinds, runs } = await overSeeds(many.kinds, context, many.run);
  context.print(many.format(kinds));
  if (json === undefined) return;
  const tables = { [name]: kinds.map(many.entry), runs: runs.map(({ result }) => withoutData(result)) };
  await context.attempt(`--json ${json}`, () => writeResult(json, tables));
}

/** Several runs on the same data do not each describe it. */
function withoutData({ details, ...result }: RunResult): RunResult {
  return details === undefined ? result : { ...result, details: { ...details, data: undefined } };
}
