import { compareRuns, formatComparison, formatRun, runApp, UsageError, writeResult } from "@mp/cli";
import { float32 } from "@mp/core";
import { definition, type Options } from "./flags.js";
import { runWordModel } from "./run.js";
import { loadText } from "./text.js";

const SWEPT = ["seed", "batch", "cells", "layers"] as const;

/** `cells=200,400` as one set of options per value. @throws UsageError */
function swept(options: Options): readonly Options[] {
  if (options.sweep === undefined) return [options];
  const [name, list = ""] = options.sweep.split("=");
  const values = list.split(",").map(Number);
  const known = SWEPT.find((candidate) => candidate === name);
  if (known === undefined || values.some((value) => !Number.isInteger(value) || value < 1)) {
    throw new UsageError(`--sweep ${options.sweep}: expected ${SWEPT.join(", ")} = integers of 1 or more`);
  }
  return values.map((value) => ({ ...options, [known]: value }));
}

await runApp(definition, async (given, context) => {
  if (given.sweep !== undefined && given.report !== undefined) {
    throw new UsageError(`--report ${given.report}: a page tells of one run, leave out --sweep`);
  }
  const text = await loadText(given.data, given.vocab);
  const results: unknown[] = [];
  for (const options of swept(given)) {
    if (given.sweep !== undefined) context.print(SWEPT.map((name) => `${name} ${options[name]}`).join(", "));
    const { save, resume, report } = options;
    if (!options.compare) {
      const result = await runWordModel(
        { options, label: options.precision, save, resume, report },
        text,
        context,
      );
      context.print(formatRun(result));
      results.push(result);
      continue;
    }
    const beside = (path: string | undefined): string | undefined =>
      path === undefined ? undefined : `${path}.float32`;
    const first = {
      options,
      precision: float32(),
      label: "float32",
      save: beside(save),
      resume: beside(resume),
      // The page is the mixed run's.
      report: undefined,
    };
    const baseline = await runWordModel(first, text, context);
    const mixed = await runWordModel(
      { options, label: options.precision, save, resume, report },
      text,
      context,
    );
    const comparison = compareRuns(baseline, mixed);
    context.print(formatComparison(comparison));
    context.print(conclusion(comparison.mixed.metric.value / baseline.metric.value - 1, mixed.emulated));
    results.push(comparison);
  }
  if (given.json !== undefined)
    writeResult(given.json, (given.sweep === undefined ? results[0] : results) as never);
});

/** Says plainly what a comparison shows, and what it does not. */
function conclusion(difference: number, emulated: readonly string[]): string {
  const percent = `${difference < 0 ? "" : "+"}${(100 * difference).toFixed(2)} %`;
  const accuracy = `Perplexity in mixed precision is ${percent} of float32's.`;
  if (emulated.length === 0) return accuracy;
  return `${accuracy} This shows the numerics of mixed precision, not its speed: ${emulated.join("; ")}.`;
}
