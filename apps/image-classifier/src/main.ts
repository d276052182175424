import { compareRuns, formatComparison, formatRun, runApp, UsageError, writeResult } from "@mp/cli";
import { float32 } from "@mp/core";
import { definition } from "./flags.js";
import { loadImages } from "./images.js";
import { runClassifier } from "./run.js";
import { formatTable, runTable } from "./table.js";

await runApp(definition, async (options, context) => {
  const { save, resume, report, json } = options;
  const isOfOneRun = [save, resume, report].some((path) => path !== undefined);
  if (options.table && (options.compare || isOfOneRun || options.manual)) {
    throw new UsageError(
      "--table trains many networks: it goes without --compare, --save, --resume, --report and --manual",
    );
  }
  const images = await loadImages(options);
  if (options.table) {
    const { runs, entries } = await runTable(options, images, context);
    context.print(formatTable(entries));
    if (json !== undefined) writeResult(json, { table: entries, runs } as never);
    return;
  }
  const label = options.manual ? "manual" : options.precision;
  const run = () => runClassifier({ options, label, save, resume, report }, images, context);
  if (!options.compare) {
    const result = await run();
    context.print(formatRun(result));
    if (json !== undefined) writeResult(json, result);
    return;
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
  const baseline = await runClassifier(first, images, context);
  const comparison = compareRuns(baseline, await run());
  context.print(formatComparison(comparison));
  const points = 100 * (comparison.mixed.metric.value - baseline.metric.value);
  context.print(`Accuracy differs by ${points < 0 ? "" : "+"}${points.toFixed(2)} percentage points.`);
  if (json !== undefined) writeResult(json, comparison);
});
