import { compareRuns, formatComparison, formatRun, runApp, UsageError, writeResult } from "@mp/cli";
import { float32 } from "@mp/core";
import { definition } from "./flags.js";
import { runQuickstart } from "./run.js";

await runApp(definition, async (options, context) => {
  const { save, resume, report, json } = options;
  if (options.data !== undefined) {
    throw new UsageError(`--data ${options.data}: the quickstart makes its points itself, leave it out`);
  }
  if (!options.compare) {
    const result = await runQuickstart({ options, save, resume, report }, context);
    if (json !== undefined) writeResult(json, result);
    context.print(formatRun(result));
    return;
  }
  const beside = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : `${path}.float32`;
  const baseline = await runQuickstart(
    { options, precision: float32(), save: beside(save), resume: beside(resume), report: undefined },
    context,
  );
  const comparison = compareRuns(baseline, await runQuickstart({ options, save, resume, report }, context));
  if (json !== undefined) writeResult(json, comparison);
  context.print(formatComparison(comparison));
});
