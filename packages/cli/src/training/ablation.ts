import type { Kind, SeededOptions } from "./over-seeds.js";
import { plainOptions } from "./plain.js";
import { type KindTable, trainKinds } from "./train-many.js";

export interface AblatedOptions extends SeededOptions {
  readonly halfReductions: boolean;
}

/** Lists the runs. Takes `mixed` as float16, because it can also mean float32, which has nothing to leave out. */
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

/** Runs `--ablation`: trains in float32, with all techniques, and without each in turn; prints a table. */
export function ablate<O extends AblatedOptions>(table: KindTable<O>): Promise<void> {
  return trainKinds(table, "ablation", ablationKinds(table.options));
}
