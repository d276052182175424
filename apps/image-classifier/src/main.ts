import { type RunResult, runApp } from "@mp/cli";
import { ablate, refuseBeside, refuseLoneSeeds, runOnceOrCompare, trainMany } from "@mp/cli/training";
import { definition, type Options } from "./flags.js";
import { loadImages } from "./images.js";
import { runClassifier } from "./run.js";
import { formatTable, percent, tableEntry, tableKinds } from "./table.js";

const OF_ONE_RUN = ["compare", "save", "resume", "report", "manual", "halfReductions"] as const;

await runApp(definition, async (options, context) => {
  if (options.table) refuseBeside("--table", options, [...OF_ONE_RUN, "ablation"]);
  if (options.ablation) refuseBeside("--ablation", options, OF_ONE_RUN);
  refuseLoneSeeds(options, ["table", "ablation"]);
  const images = await loadImages(options);
  const run = async (own: Options, label: string): Promise<{ readonly result: RunResult }> => ({
    result: await runClassifier(own, label, images, context),
  });
  if (options.ablation) return await ablate({ options, context, run, show: percent });
  if (options.table) {
    const parts = { options, context, run, kinds: tableKinds(options) };
    return await trainMany({ ...parts, name: "table", format: formatTable, entry: tableEntry });
  }
  await runOnceOrCompare({
    options,
    context,
    label: options.manual ? "manual" : options.precision,
    plain: { manual: false, halfReductions: false },
    run,
    conclude: (own, baseline) =>
      baseline === undefined
        ? undefined
        : `Accuracy differs by ${points(own.result.metric.value - baseline.result.metric.value)} percentage points.`,
  });
});

function points(difference: number): string {
  return `${difference < 0 ? "" : "+"}${percent(difference)}`;
}
