import { runApp } from "@mp/cli";
import { runOnceOrCompare } from "@mp/cli/training";
import { definition } from "./flags.js";
import { runBert } from "./run.js";
import { loadText } from "./text/load-text.js";

await runApp(definition, async (options, context) => {
  const text = await loadText(options.data, options.vocab);
  await runOnceOrCompare({
    options,
    context,
    plain: { halfReductions: false },
    run: async (own, label) => ({ result: await runBert(own, label, text, context) }),
  });
});
