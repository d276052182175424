import { runApp } from "@mp/cli";
import { ONE_RUN_FLAGS, refuseOneRunFlags, trainByFlags } from "@mp/cli/training";
import { definition } from "./flags.js";
import { loadImages } from "./images.js";
import { runClassifier } from "./run.js";
import { formatTable, percent, tableEntry, tableKinds } from "./table.js";

await runApp(definition, async (options, context) => {
  refuseOneRunFlags(options, { many: ["table", "ablation"], single: [...ONE_RUN_FLAGS, "manual"] });
  const images = await loadImages(options);
  await trainByFlags({
    options,
    context,
    show: percent,
    label: options.manual ? "manual" : options.precision,
    plain: { manual: false, halfReductions: false },
    run: (run) => runClassifier(run, images),
    table: { kinds: tableKinds(options), format: formatTable, entry: tableEntry },
    conclude: (own, baseline) => {
      if (baseline === undefined) return undefined;
      const difference = own.result.metric.value - baseline.result.metric.value;
      return `Accuracy differs by ${difference < 0 ? "" : "+"}${percent(difference)} percentage points.`;
    },
  });
});
