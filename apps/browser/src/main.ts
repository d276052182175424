import { join } from "node:path";
import { runApp, UsageError } from "@mp/cli";
import { runOnceOrCompare } from "@mp/cli/training";
import { definition } from "./flags.js";
import { runDigits } from "./run.js";
import { servePage } from "./serve.js";

await runApp(definition, async (options, context) => {
  if (options.data !== undefined) {
    throw new UsageError(`--data ${options.data}: the app draws its digits itself, leave it out`);
  }
  if (options.serve) {
    const page = await servePage({ port: options.port, folder: join(import.meta.dirname, "page") });
    context.print(`${page.url} has the page; Ctrl-C ends it`);
    await page.until(context.signal);
    return;
  }
  await runOnceOrCompare({
    options,
    context,
    run: async (own, label) => ({ result: await runDigits(own, label, context) }),
  });
});
