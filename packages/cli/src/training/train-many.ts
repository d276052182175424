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
  /** The table that is printed of the kinds that came to their end. */
  readonly format: (kinds: readonly Finished<K, R>[]) => string;
  /** What `--json` calls the table, which it holds beside all runs. */
  readonly name: string;
  /** One kind in it. */
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

/** Many runs on the same data do not each tell of it. */
function withoutData({ details, ...result }: RunResult): RunResult {
  return details === undefined ? result : { ...result, details: { ...details, data: undefined } };
}
