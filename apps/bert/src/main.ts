import { runApp } from "@mp/cli";
import { ONE_RUN_FLAGS, refuseBeside, refuseOneRunFlags, trainByFlags } from "@mp/cli/training";
import { definition } from "./flags.js";
import { budgetTable } from "./memory/budget.js";
import { printMemory } from "./memory/print-memory.js";
import { runBert } from "./run.js";
import { loadText } from "./text/load-text.js";

const SINGLE = [...ONE_RUN_FLAGS, "memory", "budget"] as const;

await runApp(definition, async (options, context) => {
  refuseOneRunFlags(options, { many: ["table", "ablation"], single: SINGLE });
  if (options.memory) {
    refuseBeside("--memory", options, ["compare", "save", "resume", "report"], "trains nothing");
    return await printMemory(options, context);
  }
  const text = await loadText(options.data, options.vocab);
  if (options.budget !== undefined) return context.print(await budgetTable(options, text));
  await trainByFlags({
    options,
    context,
    // A share as a percentage, or a perplexity.
    show: (value) => (options.task === "classify" ? 100 * value : value).toFixed(2),
    plain: { halfReductions: false },
    run: (run) => runBert(run, text),
  });
});
