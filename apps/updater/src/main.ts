import { runApp } from "@mp/cli";
import { onEngine, refuseData, runOnceOrCompare } from "@mp/cli/training";
import { definition } from "./flags.js";
import { runUpdater } from "./run.js";

await runApp(definition, async (options, context) => {
  refuseData(options, "the app makes its points itself");
  await runOnceOrCompare({ options, context, run: onEngine(context, runUpdater) });
});
