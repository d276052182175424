import type { Kind, SeededOptions } from "./over-seeds.js";
import { plainOptions } from "./plain.js";
import { type KindTable, trainKinds } from "./train-many.js";

export interface AblatedOptions extends SeededOptions {
  readonly halfReductions: boolean;
}

/** Kinds of runs. Takes float16 in place of `mixed`, which may turn out as float32, with no technique to leave out. */
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

/** Runs `--ablation`: prints a table with a run with every technique, runs without one of them, and one in float32. */
export function ablate<O extends AblatedOptions>(table: KindTable<O>): Promise<void> {
  return trainKinds(table, "ablation", ablationKinds(table.options));
}
