import { defineApp, integer, number, runApp, UsageError, writeResult } from "@mp/cli";
import { backendOf, refuseData } from "@mp/cli/training";
import { train } from "./run.js";
import { sideBySide } from "./side-by-side.js";
import { tinyBackend } from "./tiny-backend.js";

const definition = defineApp({
  name: "custom-backend",
  description: "Trains on a backend of under 100 lines, then on the one that --backend names, and compares",
  defaults: { steps: 200, backend: "reference" },
  flags: {
    hidden: integer({ default: 32, help: "units of the hidden layer" }),
    learningRate: number({ default: 0.3, help: "of gradient descent" }),
  },
});

await runApp(definition, async (options, context) => {
  refuseData(options, "this app makes its points itself");
  if (options.compare) throw new UsageError("--compare: this app always compares, with what --backend names");
  const tiny = tinyBackend();
  const other = await backendOf(options);
  try {
    // The report counts with operators that the tiny backend does not have.
    const own = { ...options, report: undefined };
    const result = await train({ options: own, label: tiny.name, context, backend: tiny });
    const theirs = { ...options, save: undefined };
    const { loss } = await train({ options: theirs, label: other.name, context, backend: other });
    context.print(sideBySide({ [tiny.name]: result.loss, [options.backend]: loss }));
    const { json } = options;
    if (json !== undefined) await context.attempt(`--json ${json}`, () => writeResult(json, result));
  } finally {
    await Promise.all([tiny.dispose(), other.dispose()]);
  }
});
