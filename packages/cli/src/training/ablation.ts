/**
 * Measures what each technique of mixed precision gains: a run with all of them, one without each, and one in float32.
 */
import type { RunResult } from "../result.js";
import type { AppContext } from "../run-app.js";
import { formatKinds, metricOf } from "./kind-table.js";
import type { Kind, SeededOptions } from "./over-seeds.js";
import { plainOptions } from "./plain.js";
import { trainMany } from "./train-many.js";

export interface AblatedOptions extends SeededOptions {
  readonly halfReductions: boolean;
}

/** `mixed` means float16 here: with an engine without halves there would be nothing to remove. */
function ablationKinds<O extends AblatedOptions>(options: O): readonly Kind<O>[] {
  const precision = options.precision === "mixed" ? "mixed_float16" : options.precision;
  const whole = { ...options, precision };
  return [
    { name: "float32", options: plainOptions(options, { halfReductions: false } as Partial<O>) },
    { name: precision, options: whole },
    { name: "--master-weights none", options: { ...whole, masterWeights: "none" } },
    { name: "--loss-scale none", options: { ...whole, lossScale: "none" } },
    { name: "--half-reductions", options: { ...whole, halfReductions: true } },
  ];
}

export interface Ablation<O extends AblatedOptions> {
  readonly options: O;
  readonly context: AppContext;
  readonly run: (options: O, label: string) => Promise<{ readonly result: RunResult }>;
  /** Formats a value of the metric for the table. */
  readonly show: (value: number) => string;
}

/** Runs `--ablation`: trains every kind over `--seeds`, prints the table, and writes it to the `--json` path. */
export async function ablate<O extends AblatedOptions>(ablation: Ablation<O>): Promise<void> {
  const { options, context, run, show } = ablation;
  await trainMany({
    options,
    context,
    run,
    name: "ablation",
    kinds: ablationKinds(options),
    format: (kinds) => formatKinds(kinds, { show }),
    entry: (kind) => ({ name: kind.name, metric: metricOf(kind) }),
  });
}
