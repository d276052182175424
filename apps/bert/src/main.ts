import { type RunResult, runApp } from "@mp/cli";
import { ablate, precisionTable, refuseBeside, refuseLoneSeeds, runOnceOrCompare } from "@mp/cli/training";
import { definition, type Options } from "./flags.js";
import { budgetTable } from "./memory/budget.js";
import { printMemory } from "./memory/print-memory.js";
import { runBert } from "./run.js";
import { show } from "./show.js";
import { loadText } from "./text/load-text.js";

const OF_ONE_RUN = ["compare", "save", "resume", "report", "halfReductions", "memory", "budget"] as const;

await runApp(definition, async (options, context) => {
  if (options.table) refuseBeside("--table", options, [...OF_ONE_RUN, "ablation"]);
  if (options.ablation) refuseBeside("--ablation", options, OF_ONE_RUN);
  if (options.memory)
    refuseBeside("--memory", options, ["compare", "save", "resume", "report"], "trains nothing");
  refuseLoneSeeds(options, ["table", "ablation"]);
  if (options.memory) return await printMemory(options, context);
  const text = await loadText(options.data, options.vocab);
  if (options.budget !== undefined) return context.print(await budgetTable(options, text));
  const run = async (own: Options, label: string): Promise<{ readonly result: RunResult }> => ({
    result: await runBert(own, label, text, context),
  });
  if (options.ablation) return await ablate({ options, context, run, show: show(options) });
  if (options.table) return await precisionTable({ options, context, run, show: show(options) });
  await runOnceOrCompare({ options, context, plain: { halfReductions: false }, run });
});
