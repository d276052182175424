import { runApp, UsageError } from "@mp/cli";
import { runOnceOrCompare } from "@mp/cli/training";
import { definition } from "./flags.js";
import { runUpdater } from "./run.js";

await runApp(definition, async (options, context) => {
  if (options.data !== undefined) {
    throw new UsageError(`--data ${options.data}: the app makes its points itself, leave it out`);
  }
  await runOnceOrCompare({
    options,
    context,
    run: async (own, label) => ({ result: await runUpdater(own, label, context) }),
  });
});
