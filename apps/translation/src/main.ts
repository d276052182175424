import { type RunResult, runApp, UsageError } from "@mp/cli";
import {
  ablate,
  precisionKinds,
  refuseBeside,
  refuseLoneSeeds,
  runOnceOrCompare,
  trainMany,
} from "@mp/cli/training";
import { definition, type Options } from "./flags.js";
import { loadParallelText } from "./parallel-text.js";
import { runTranslation } from "./run.js";
import { formatTable, percent, tableEntry } from "./table.js";

const OF_ONE_RUN = ["compare", "save", "resume", "report", "halfReductions"] as const;

await runApp(definition, async (options, context) => {
  const { size, heads } = options;
  if (size % heads !== 0) throw new UsageError(`--heads ${heads}: does not divide --size ${size}`);
  if (options.table) refuseBeside("--table", options, [...OF_ONE_RUN, "ablation"]);
  if (options.ablation) refuseBeside("--ablation", options, OF_ONE_RUN);
  refuseLoneSeeds(options, ["table", "ablation"]);
  const text = await loadParallelText(options);
  const run = async (own: Options, label: string): Promise<{ readonly result: RunResult }> => ({
    result: await runTranslation(own, label, text, context),
  });
  if (options.ablation) {
    return await ablate({ options, context, run, show: (value) => value.toFixed(2) });
  }
  if (options.table) {
    const parts = { options, context, run, kinds: precisionKinds(options) };
    return await trainMany({ ...parts, name: "table", format: formatTable, entry: tableEntry });
  }
  await runOnceOrCompare({
    options,
    context,
    plain: { halfReductions: false },
    run,
    conclude: ({ result }) => conclusion(result.details),
  });
});

function conclusion(details: RunResult["details"]): string {
  const lines = details?.["examples"] as readonly string[];
  return [
    `${percent(Number(details?.["exactMatch"]))} % of the unseen sentences are translated exactly.`,
    ...lines,
  ].join("\n");
}
