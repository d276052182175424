import { type RunResult, runApp, UsageError } from "@mp/cli";
import { ONE_RUN_FLAGS, precisionKinds, refuseOneRunFlags, trainByFlags } from "@mp/cli/training";
import { definition } from "./flags.js";
import { loadParallelText } from "./parallel-text.js";
import { runTranslation } from "./run.js";
import { formatTable, percent, tableEntry } from "./table.js";

await runApp(definition, async (options, context) => {
  const { size, heads } = options;
  if (size % heads !== 0) throw new UsageError(`--heads ${heads}: does not divide --size ${size}`);
  refuseOneRunFlags(options, { many: ["table", "ablation"], single: ONE_RUN_FLAGS });
  const text = await loadParallelText(options);
  await trainByFlags({
    options,
    context,
    show: (bleu) => bleu.toFixed(2),
    plain: { halfReductions: false },
    run: (run) => runTranslation(run, text),
    table: { kinds: precisionKinds(options), format: formatTable, entry: tableEntry },
    conclude: ({ result }) => conclusion(result.details),
  });
});

function conclusion(details: RunResult["details"]): string {
  const lines = details?.["examples"] as readonly string[];
  const share = percent(Number(details?.["exactMatch"]));
  return [`${share} % of the unseen sentences are translated exactly.`, ...lines].join("\n");
}
