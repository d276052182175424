import { runApp } from "@mp/cli";
import { onEngine, refuseData, runOnceOrCompare } from "@mp/cli/training";
import { definition } from "./flags.js";
import { runQuickstart } from "./run.js";

await runApp(definition, async (options, context) => {
  refuseData(options, "the quickstart makes its points itself");
  await runOnceOrCompare({ options, context, run: onEngine(context, runQuickstart) });
});
