import type { RunResult } from "../result.js";
import type { AppContext } from "../run-app.js";
import { writeResult } from "../write-result.js";
import { formatKinds, type KindTableOptions, metricOf } from "./kind-table.js";
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
  /** Formats the table of the kinds of run that have finished. */
  readonly format: (kinds: readonly Finished<K, R>[]) => string;
  /** Key of the table in the `--json` file, which also contains all runs. */
  readonly name: string;
  /** The table's entry for one kind of run. */
  readonly entry: (kind: Finished<K, R>) => Readonly<Record<string, unknown>>;
}

/** Trains each kind of run once per seed, prints the table, and writes it to the `--json` path. */
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

export interface KindTable<O extends SeededOptions> {
  readonly options: O;
  readonly context: AppContext;
  readonly run: (options: O, label: string) => Promise<{ readonly result: RunResult }>;
  /** Formats a value of the metric for the table. */
  readonly show: (value: number) => string;
}

type Columns = KindTableOptions<Finished<Kind<SeededOptions>, { readonly result: RunResult }>>["columns"];

/** Trains each kind of run once per seed, prints a table of metrics, and writes it to the `--json` path. */
export function trainKinds<O extends SeededOptions>(
  { show, ...table }: KindTable<O>,
  name: string,
  kinds: readonly Kind<O>[],
  columns: Columns = {},
): Promise<void> {
  return trainMany({
    ...table,
    name,
    kinds,
    format: (finished) => formatKinds(finished, { show, columns }),
    entry: (kind) => ({ name: kind.name, metric: metricOf(kind) }),
  });
}

/** Drops the description of the data, which is the same for all runs. */
function withoutData({ details, ...result }: RunResult): RunResult {
  return details === undefined ? result : { ...result, details: { ...details, data: undefined } };
}
