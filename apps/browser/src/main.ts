import { join } from "node:path";
import { runApp } from "@mp/cli";
import { onEngine, refuseData, runOnceOrCompare } from "@mp/cli/training";
import { definition } from "./flags.js";
import { runDigits } from "./run.js";
import { servePage } from "./serve.js";

await runApp(definition, async (options, context) => {
  refuseData(options, "the app draws its digits itself");
  if (options.serve) {
    const page = await servePage({ port: options.port, folder: join(import.meta.dirname, "page") });
    context.print(`${page.url} has the page; Ctrl-C ends it`);
    await page.until(context.signal);
    return;
  }
  await runOnceOrCompare({ options, context, run: onEngine(context, runDigits) });
});
